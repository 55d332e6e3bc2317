/** The maximum length of a stored User-Agent header. Headers of browsers are shorter. */
export const longestUserAgent = 512
/** The number of characters that are shown of an unknown User-Agent header. */
const shownOfUnknown = 60

/** The browsers by the token in their User-Agent header. Chrome is after the browsers that also contain its token. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/[\d.]+.* Safari\//, 'Safari'],
]

/** The operating systems. Android is before Linux, and iOS before macOS, because their headers contain both names. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPad\b/, 'iPadOS'],
  [/\biPhone\b/, 'iOS'],
  [/\bWindows\b/i, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b|\bdarwin\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/i, 'Linux'],
]

/**
 * Returns the device of a sign-in, for example "Firefox on Windows". The user signs in to the command line with a browser
 * on the same computer, so the operating system of the browser is also the system of the command line.
 */
export function deviceOf({ clientId, userAgent }: { clientId: string; userAgent: string }): string {
  const system = nameIn(systems, userAgent)
  const browser = nameIn(browsers, userAgent) ?? (/^Mozilla\//.test(userAgent) ? 'Unknown browser' : undefined)
  const program = clientId === 'cli' ? 'millwright command line' : browser
  if (program !== undefined) return system === undefined ? program : `${program} on ${system}`
  const text = userAgent.trim()
  return text === '' ? 'Unknown device' : text.slice(0, shownOfUnknown)
}

function nameIn(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}
