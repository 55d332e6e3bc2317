import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useState } from 'react'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { useOperationQuery } from '../api/queries.ts'
import { useText } from '../language/language-context.tsx'
import { useRights } from '../session/app-context.tsx'
import { type Command, matchingCommands } from './command.ts'
import { useCommands } from './commands.ts'
import { appMessages } from './messages.ts'

const assetLimit = 6
const minimumLength = 2

/** `CommandPalette` searches pages, actions and assets, and opens the selected entry. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const text = useText(appMessages)
  const listId = useId()
  const [typed, setTyped] = useState('')
  const [activeIndex, setActiveIndex] = useState(0)
  const commands = [...matchingCommands(useCommands(), typed), ...useAssetCommands(typed)]
  const active = commands[Math.min(activeIndex, commands.length - 1)]
  const activeId = active && `${listId}-${active.id}`
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' })
  }, [activeId])
  const run = (command: Command) => {
    onClose()
    command.run()
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setActiveIndex((activeIndex + step + commands.length) % Math.max(1, commands.length))
    else if (event.key === 'Enter' && active !== undefined) run(active)
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
        aria-activedescendant={activeId}
        placeholder={text.commandHint}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setActiveIndex(0)
        }}
        onKeyDown={onKey}
        autoFocus
      />
      <div className="palette-list" id={listId} role="listbox" aria-label={text.commands}>
        {commands.map((command) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input that controls the list handles keys
          <div
            key={command.id}
            id={`${listId}-${command.id}`}
            className="palette-item"
            role="option"
            aria-selected={command === active}
            onClick={() => run(command)}
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

/**
 * Returns commands that open the assets that match the search text. The list is empty if the user has no permission to
 * read assets.
 */
function useAssetCommands(typed: string): Command[] {
  const text = useText(appMessages)
  const query = useOperationQuery()
  const navigate = useNavigate()
  const canRead = useRights().has('inventory_read_asset_data')
  const words = useDeferredValue(typed.trim())
  const { data } = useQuery({
    ...query(['inventory', 'listAssets'], {
      query: { q: words || 'x', limit: assetLimit, count: false, fields: 'id,name' },
    }),
    enabled: canRead && words.length >= minimumLength,
  })
  if (words.length < minimumLength) return []
  return ((data?.data ?? []) as { id: string; name?: string }[]).map(({ id, name }) => ({
    id: `asset-${id}`,
    label: name ?? id,
    hint: text.assetsFound,
    run: () => navigate({ to: `/assets/${id}` }),
  }))
}
