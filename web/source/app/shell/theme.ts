import { storeTheme, type Theme } from './stored-theme.ts'

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
let chosen: Theme = 'system'

export function applyTheme(theme: Theme): void {
  chosen = theme
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches)
  document.documentElement.dataset.ixColorSchema = isDark ? 'dark' : 'light'
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light'
}

/** Applies the theme that the user has chosen, and stores it for the pages of the documentation. */
export function chooseTheme(theme: Theme): void {
  storeTheme(theme)
  applyTheme(theme)
}

systemIsDark.addEventListener('change', () => applyTheme(chosen))
