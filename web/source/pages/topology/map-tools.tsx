import type { Hierarchy } from '@millwright/api/hierarchy.ts'
import type { Grouping } from '@millwright/api/inventory/topology-groups.ts'
import { type FormEvent, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { CheckField, SelectField, TextField } from '../../components/forms/fields.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { type Layout, layouts } from './map/arrangement.ts'
import { mapMessages } from './map-messages.ts'
import type { ChangeTopologySearch } from './topology-search.ts'

type MapToolsProps = {
  by: Grouping
  offered: readonly Grouping[]
  hierarchies: readonly Hierarchy[]
  hierarchy: string | undefined
  layout: Layout
  q: string
  isAll: boolean
  change: ChangeTopologySearch
}

/** `MapTools` contains the grouping, the layout and the filter of the map. */
export function MapTools({ by, offered, hierarchies, hierarchy, layout, q, isAll, change }: MapToolsProps) {
  const text = useText(mapMessages)
  const layoutNames = { hierarchy: text.layoutHierarchy, network: text.layoutNetwork, force: text.layoutForce }
  return (
    <div className="map-tools">
      <Toolbar>
        <SelectField
          label={text.groupBy}
          value={by}
          choices={offered.map((value) => ({ value, label: text[value] }))}
          onChange={(value) => change({ by: value, in: undefined, asset: undefined, layout: undefined })}
        />
        {by === 'hierarchy' && hierarchies.length > 1 && (
          <SelectField
            label={text.chosenHierarchy}
            value={hierarchy ?? ''}
            choices={hierarchies.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={(id) => change({ hierarchy: id, in: undefined, asset: undefined })}
          />
        )}
        <SelectField
          label={text.layout}
          value={layout}
          choices={layouts.map((value) => ({ value, label: layoutNames[value] }))}
          onChange={(value) => change({ layout: value })}
        />
        <MapFilter key={q} value={q} onChange={(words) => change({ q: words })} />
        <div className="map-all">
          <CheckField
            label={text.all}
            isChecked={isAll}
            onChange={(isOn) => change({ all: isOn ? 'yes' : undefined, in: undefined })}
          />
        </div>
      </Toolbar>
    </div>
  )
}

/** `MapFilter` applies its text on Enter or when the field loses the focus, because counting the assets is expensive. */
function MapFilter({ value, onChange }: { value: string; onChange: (words: string) => void }) {
  const text = useText(mapMessages)
  const [typed, setTyped] = useState(value)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onChange(typed.trim())
  }
  return (
    <form onSubmit={submit} onBlur={() => typed.trim() !== value && onChange(typed.trim())}>
      <TextField
        label={text.filter}
        isLabelUnseen
        placeholder={text.filterHint}
        type="search"
        value={typed}
        onChange={setTyped}
        maxLength={256}
      />
    </form>
  )
}
