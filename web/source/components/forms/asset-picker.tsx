import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { componentMessages } from '../messages.ts'
import { Field } from './fields.tsx'

export type PickedAsset = { id: string; name: string }

type AssetPickerProps = {
  label: string
  picked: PickedAsset | undefined
  onPick: (asset: PickedAsset | undefined) => void
  /** The id of an asset that cannot be picked. */
  except?: string
  error?: string | undefined
}

const assetLimit = 8
const minimumLength = 2

type ListedAsset = { id: string; name?: string | null; description?: string | null }

/** `AssetPicker` lets the user search for an asset by name, serial number or address, and pick it. */
export function AssetPicker({ label, picked, onPick, except, error }: AssetPickerProps) {
  const text = useText(componentMessages)
  const listId = useId()
  const [typed, setTyped] = useState('')
  const [activeIndex, setActiveIndex] = useState(0)
  const matches = useMatchingAssets(typed, except)
  const isOpen = picked === undefined && typed.trim().length >= minimumLength
  const pick = ({ id, name }: ListedAsset) => {
    onPick({ id, name: name ?? id })
    setTyped('')
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const active = matches[activeIndex]
    if (step !== undefined && isOpen)
      setActiveIndex((activeIndex + step + matches.length) % Math.max(1, matches.length))
    else if (event.key === 'Enter' && isOpen && active !== undefined) pick(active)
    else if (event.key === 'Escape' && isOpen) setTyped('')
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <Field label={label} error={error}>
      {({ id, describedBy, isInvalid }) => (
        <div className="picker">
          <input
            id={id}
            className="input"
            type="text"
            role="combobox"
            autoComplete="off"
            spellCheck={false}
            placeholder={text.pickHint}
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-activedescendant={
              isOpen && matches[activeIndex] !== undefined ? `${listId}-${activeIndex}` : undefined
            }
            aria-invalid={isInvalid}
            aria-describedby={describedBy}
            value={picked?.name ?? typed}
            onChange={({ target }) => {
              onPick(undefined)
              setTyped(target.value)
              setActiveIndex(0)
            }}
            onKeyDown={onKey}
          />
          <div id={listId} role="listbox" aria-label={label} className="picker-list" hidden={!isOpen}>
            {matches.map((asset, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input that controls the list handles keys
              <div
                key={asset.id}
                id={`${listId}-${index}`}
                className="palette-item"
                role="option"
                tabIndex={-1}
                aria-selected={index === activeIndex}
                onClick={() => pick(asset)}
              >
                <span className="palette-label">{asset.name ?? asset.id}</span>
                <span className="palette-hint">{asset.description}</span>
              </div>
            ))}
            {isOpen && matches.length === 0 && <p className="picker-none">{text.pickNone}</p>}
          </div>
        </div>
      )}
    </Field>
  )
}

function useMatchingAssets(typed: string, except: string | undefined): ListedAsset[] {
  const query = useOperationQuery()
  const words = useDeferredValue(typed.trim())
  const { data } = useQuery({
    ...query(['inventory', 'listAssets'], {
      query: {
        q: words || 'x',
        limit: assetLimit,
        count: false,
        fields: 'id,name,description',
      },
    }),
    enabled: words.length >= minimumLength,
    placeholderData: (before) => before,
  })
  return ((data?.data ?? []) as ListedAsset[]).filter(({ id }) => id !== except)
}
