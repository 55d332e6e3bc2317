/** The themes. `system` uses the theme of the operating system. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'millwright.theme'

/** Stores the theme in the browser, so that the documentation has the same theme as the console. */
export function storeTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
}

export function storedTheme(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((theme) => theme === stored) ?? 'system'
}
