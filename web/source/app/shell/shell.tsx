import { iconQuestion, iconSearch, iconUserProfile } from '@siemens/ix-icons/icons'
import { IxApplication, IxApplicationHeader, IxContent } from '@siemens/ix-react'
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { useKeyboardShortcut } from '../../components/actions/keyboard-shortcut.ts'
import { MenuButton, type MenuEntry } from '../../components/actions/menu-button.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { languageNames, languages } from '../language/language.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { LiveIndicator } from '../live/live-indicator.tsx'
import { helpAddress } from '../navigation/help-pages.ts'
import { usePreference } from '../preferences/preference.ts'
import { useAppContext } from '../session/app-context.tsx'
import { CommandPalette } from './command-palette.tsx'
import { appMessages } from './messages.ts'
import { Navigation } from './navigation.tsx'
import { type Theme, themes } from './stored-theme.ts'

/** `Shell` is the frame around every page: header, navigation and command palette. */
export function Shell() {
  const text = useText(appMessages)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useKeyboardShortcut('Mod+k', () => setPaletteOpen(true))
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        {text.skip}
      </button>
      <IxApplication>
        <IxApplicationHeader name="Millwright" ariaLabelMoreMenuIconButton={text.more}>
          <img slot="logo" className="header-mark" src="/console/mark.svg" alt="" width="24" height="24" />
          <div className="header-tools" slot="ix-application-header-avatar">
            <LiveIndicator />
            <button
              type="button"
              className="search-button"
              aria-keyshortcuts="Control+K"
              onClick={() => setPaletteOpen(true)}
            >
              <Icon name={iconSearch} size={16} />
              <span className="search-label">{text.search}</span>
              <kbd>Ctrl K</kbd>
            </button>
            <HelpLink />
            <AccountMenu />
          </div>
        </IxApplicationHeader>
        <Navigation />
        <IxContent>
          <div id="main" className="page" tabIndex={-1}>
            <Outlet />
          </div>
        </IxContent>
      </IxApplication>
      {isPaletteOpen && <CommandPalette onClose={() => setPaletteOpen(false)} />}
    </>
  )
}

/** `HelpLink` opens the page of the documentation that describes the current page of the console. */
function HelpLink() {
  const text = useText(appMessages)
  const address = useRouterState({
    select: ({ matches, location }) => helpAddress(matches.at(-1)?.fullPath ?? '', location.search),
  })
  useKeyboardShortcut('?', () => open(address))
  return (
    <a
      className="help-link"
      href={address}
      target="_blank"
      rel="noopener"
      title={text.help}
      aria-label={text.help}
      aria-keyshortcuts="?"
    >
      <Icon name={iconQuestion} />
    </a>
  )
}

function AccountMenu() {
  const text = useText(appMessages)
  const { user, signOut } = useAppContext()
  const navigate = useNavigate()
  const language = useLanguage()
  const [theme, setTheme] = usePreference<Theme>('theme', 'system')
  const [, setLanguage] = usePreference<string>('language', language)
  const themeNames = { system: text.themeSystem, light: text.themeLight, dark: text.themeDark }
  const entries: MenuEntry[] = [
    { kind: 'item', label: text.own, onSelect: () => navigate({ to: '/account' }) },
    { kind: 'line' },
    { kind: 'heading', label: text.theme },
    ...themes.map(
      (each): MenuEntry => ({
        kind: 'choice',
        label: themeNames[each],
        isChosen: theme === each,
        onSelect: () => setTheme(each),
      }),
    ),
    { kind: 'heading', label: text.language },
    ...languages.map(
      (each): MenuEntry => ({
        kind: 'choice',
        label: languageNames[each],
        isChosen: language === each,
        onSelect: () => setLanguage(each),
      }),
    ),
    { kind: 'line' },
    { kind: 'item', label: text.documentation, onSelect: () => open('/docs') },
    { kind: 'item', label: text.reference, onSelect: () => open('/docs/api') },
    { kind: 'item', label: text.problems, onSelect: () => open('/docs/problems') },
    { kind: 'line' },
    { kind: 'item', label: text.signOut, onSelect: () => signOut() },
  ]
  return (
    <MenuButton
      label={text.account}
      className="account-button"
      entries={entries}
      isAtEnd
      head={
        <>
          <strong>{user.name}</strong>
          <span className="quiet">
            {text.tenant} {user.tenant_name}
          </span>
        </>
      }
    >
      <Icon name={iconUserProfile} />
      <span className="account-name">{user.preferred_username}</span>
    </MenuButton>
  )
}
