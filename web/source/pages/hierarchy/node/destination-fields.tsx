import { useText } from '../../../app/language/language-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { hierarchyMessages } from '../messages.ts'
import { NodeBrowser } from '../tree/node-browser.tsx'

/** `Destination` is the new place of a moved or copied node. */
export type Destination = {
  isTop: boolean
  /** The id of the new parent. It is not used if the node is moved or copied to the top level. */
  parentId: string | undefined
  /** The position among the siblings, counted from 1. An empty text means the last position. */
  position: string
}

type DestinationFieldsProps = {
  hierarchyId: string
  value: Destination
  onChange: (value: Destination) => void
  isMissing: boolean
}

/** `DestinationFields` contains the form fields for the new parent and the new position of a node. */
export function DestinationFields({ hierarchyId, value, onChange, isMissing }: DestinationFieldsProps) {
  const text = useText(hierarchyMessages)
  return (
    <div className="form">
      <div>
        <ViewSwitch
          label={text.destination}
          choices={[
            { value: 'top', label: text.topLevel },
            { value: 'below', label: text.belowNode },
          ]}
          chosen={value.isTop ? 'top' : 'below'}
          onChoose={(chosen) => onChange({ ...value, isTop: chosen === 'top' })}
        />
        {!value.isTop && (
          <div className="node-choice">
            <NodeBrowser
              hierarchyId={hierarchyId}
              selected={value.parentId}
              onSelect={({ id }) => onChange({ ...value, parentId: id })}
              empty={null}
            />
          </div>
        )}
        {isMissing && <p className="field-error">{text.chooseNode}</p>}
      </div>
      <TextField
        label={text.position}
        hint={text.positionHint}
        type="number"
        value={value.position}
        onChange={(position) => onChange({ ...value, position })}
      />
    </div>
  )
}

/** Returns the request body of a move or copy. Returns undefined if the user has not selected a parent. */
export function bodyOf({ isTop, parentId, position }: Destination) {
  if (!isTop && parentId === undefined) return undefined
  const place = Number(position)
  return {
    parentId: isTop ? null : (parentId ?? null),
    ...(position.trim() !== '' && Number.isInteger(place) && place >= 1 && { position: place - 1 }),
  }
}
