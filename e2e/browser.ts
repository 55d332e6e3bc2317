import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import packaged from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { root } from './program.ts'
import { limitSteps, stepTimeoutMs } from './time-limit.ts'

const installed = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/**
 * The flags that disable the sandbox and the background requests of the browser. The sandbox is not available for root.
 */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The language of the browser itself. Its date fields have the format of this language. */
const language = { LANGUAGE: 'en_GB', LC_ALL: 'en_GB.UTF-8' }

/**
 * Opens the browser that is installed on this machine. If no browser is installed, opens the packaged browser. Each step in
 * the browser must finish within `stepMs`.
 */
export async function openBrowser({ stepMs = stepTimeoutMs } = {}): Promise<{ browser: Browser; which: string }> {
  const executablePath = installed.find((file) => existsSync(file)) ?? (await unpacked())
  const browser = await chromium.launch({ executablePath, args: flags, env: { ...process.env, ...language } })
  limitSteps(browser, stepMs)
  return { browser, which: `Chromium ${browser.version()}, ${executablePath}` }
}

/**
 * Unpacks the packaged browser once per version. The browser is unpacked into a temporary folder first, because test
 * runs may be concurrent.
 */
async function unpacked(): Promise<string> {
  const manifest = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'))
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'))
  const cache = join(root, 'node_modules', '.cache')
  const place = join(cache, `chromium-${version}`)
  if (!existsSync(place)) {
    mkdirSync(cache, { recursive: true })
    const draft = mkdtempSync(join(cache, 'chromium-unpacking-'))
    await unpackInto(draft)
    try {
      renameSync(draft, place)
    } catch (error) {
      rmSync(draft, { recursive: true, force: true })
      if (!existsSync(place)) throw error
    }
  }
  if (!existsSync('/etc/fonts')) process.env.FONTCONFIG_PATH = join(place, 'fonts')
  return join(place, 'chromium')
}

/**
 * Unpacks the browser into `folder`. The package always unpacks to the folder for temporary files, so `TMPDIR` is set
 * to `folder` while it unpacks.
 */
async function unpackInto(folder: string): Promise<void> {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    await packaged.executablePath()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
