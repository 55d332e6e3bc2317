import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { areas } from './areas.ts'
import { useLanguage, useText } from './language-context.tsx'
import { appMessages } from './messages.ts'
import { useOperationQuery } from './queries.ts'
import type { Theme } from './theme.ts'
import { useRights, useVisit } from './visit.tsx'

type Command = { id: string; label: string; hint: string; icon?: string; run: () => void }

const shownAssets = 6
const fewestLetters = 2

/** Jump anywhere by typing: pages, and assets by name. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const text = useText(appMessages)
  const listId = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const commands = useCommands(typed, onClose)
  const active = commands[Math.min(chosen, commands.length - 1)]
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen((chosen + step + commands.length) % Math.max(1, commands.length))
    else if (event.key === 'Enter') active?.run()
    else return
    event.preventDefault()
  }
  return (
    <Dialog title={text.commands} onClose={onClose} isPalette>
      <input
        className="palette-input"
        type="text"
        role="combobox"
        aria-label={text.commandHint}
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={active === undefined ? undefined : `${listId}-${active.id}`}
        placeholder={text.commandHint}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setChosen(0)
        }}
        onKeyDown={onKey}
        autoFocus
      />
      <div className="palette-list" id={listId} role="listbox" aria-label={text.commands}>
        {commands.map((command) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the field that controls the list
          <div
            key={command.id}
            id={`${listId}-${command.id}`}
            className="palette-item"
            role="option"
            aria-selected={command === active}
            onClick={command.run}
          >
            {command.icon !== undefined && <Icon name={command.icon} size={16} />}
            <span className="palette-label">{command.label}</span>
            <span className="palette-hint">{command.hint}</span>
          </div>
        ))}
      </div>
      {commands.length === 0 && <p className="palette-none">{text.noCommand}</p>}
    </Dialog>
  )
}

function useCommands(typed: string, onClose: () => void): Command[] {
  const text = useText(appMessages)
  const language = useLanguage()
  const rights = useRights()
  const navigate = useNavigate()
  const found = useAssetsNamed(typed)
  const go =
    (to: string, search: Record<string, string> = {}) =>
    () => {
      onClose()
      navigate({ to, search: search as never })
    }
  const words = typed.trim().toLowerCase()
  const pages = areas
    .filter(({ permissions }) => permissions.length === 0 || rights.mayAny(permissions))
    .filter(({ title, description }) => `${title[language]} ${description[language]}`.toLowerCase().includes(words))
    .map(({ id, title, description, icon, path }) => ({
      id,
      label: title[language],
      hint: description[language],
      icon,
      run: go(path),
    }))
  const assets = found.map(({ id, name }) => ({
    id: `asset-${id}`,
    label: name ?? id,
    hint: text.assetsFound,
    run: go(`/assets/${id}`),
  }))
  return [...pages, ...useActions(words, { go, onClose }), ...assets]
}

type Ways = { go: (to: string, search?: Record<string, string>) => () => void; onClose: () => void }

/** What can be done from anywhere. */
function useActions(words: string, { go, onClose }: Ways): Command[] {
  const text = useText(appMessages)
  const { rights, preferences, signOut } = useVisit()
  const choose = (theme: Theme) => () => {
    onClose()
    preferences.set('theme', theme)
  }
  const actions = [
    ...(rights.may('glb_discovery_run')
      ? [{ id: 'scan', label: text.startScan, run: go('/discovery', { scan: 'any' }) }]
      : []),
    { id: 'light', label: `${text.theme}: ${text.themeLight}`, run: choose('light') },
    { id: 'dark', label: `${text.theme}: ${text.themeDark}`, run: choose('dark') },
    { id: 'sign-out', label: text.signOut, run: () => signOut() },
  ]
  return actions
    .filter(({ label }) => label.toLowerCase().includes(words))
    .map((action) => ({ ...action, hint: text.actions }))
}

function useAssetsNamed(typed: string): { id: string; name?: string }[] {
  const query = useOperationQuery()
  const mayRead = useRights().may('inventory_read_asset_data')
  const words = useDeferredValue(typed.trim())
  const { data } = useQuery({
    ...query(['inventory', 'listAssets'], {
      query: { q: words || 'x', limit: shownAssets, count: false, fields: 'id,name' },
    }),
    enabled: mayRead && words.length >= fewestLetters,
  })
  return words.length < fewestLetters ? [] : ((data?.data ?? []) as { id: string; name?: string }[])
}
