/** The themes. `system` uses the theme of the operating system. */

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
let chosen: Theme = 'system'

export function applyTheme(theme: Theme): void {
  chosen = theme
  const isDark = theme === 'dark' || (theme === 'system' && systemIsDark.matches)
  document.documentElement.dataset.ixColorSchema = isDark ? 'dark' : 'light'
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light'
}

systemIsDark.addEventListener('change', () => applyTheme(chosen))
