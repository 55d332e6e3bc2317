import { useNavigate } from '@tanstack/react-router'
import { languageNames, languages } from '../language/language.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { areas } from '../navigation/areas.ts'
import { useAppContext } from '../session/app-context.tsx'
import type { Command } from './command.ts'
import { appMessages } from './messages.ts'
import { themes } from './stored-theme.ts'

/**
 * Returns all commands of the palette except those for assets: the areas with their views and actions, the themes, the
 * languages and sign-out.
 */
export function useCommands(): Command[] {
  const text = useText(appMessages)
  const language = useLanguage()
  const navigate = useNavigate()
  const { rights, preferences, signOut } = useAppContext()
  const go = (to: string, search: Readonly<Record<string, string>> = {}) => navigate({ to, search: search as never })
  const offered = areas.filter(({ permissions }) => permissions.length === 0 || rights.hasAny(permissions))
  const themeNames = { system: text.themeSystem, light: text.themeLight, dark: text.themeDark }
  return [
    ...offered.map(({ id, title, description, icon, path }) => ({
      id,
      label: title[language],
      hint: description[language],
      icon,
      run: () => go(path),
    })),
    ...offered.flatMap(({ id, title: area, icon, path, commands = [] }) =>
      commands
        .filter(({ permission }) => permission === undefined || rights.has(permission))
        .map(({ title, search }, place) => ({
          id: `${id}-${place}`,
          label: title[language],
          hint: area[language],
          icon,
          run: () => go(path, search),
        })),
    ),
    ...themes.map((theme) => ({
      id: `theme-${theme}`,
      label: `${text.theme}: ${themeNames[theme]}`,
      hint: text.actions,
      run: () => preferences.set('theme', theme),
    })),
    ...languages.map((each) => ({
      id: `language-${each}`,
      label: `${text.language}: ${languageNames[each]}`,
      hint: text.actions,
      run: () => preferences.set('language', each),
    })),
    { id: 'documentation', label: text.documentation, hint: text.actions, run: () => void open('/docs') },
    { id: 'sign-out', label: text.signOut, hint: text.actions, run: () => signOut() },
  ]
}
