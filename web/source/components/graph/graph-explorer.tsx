import type { GraphNode } from '@millwright/api/inventory.ts'
import { lazy, type ReactNode, Suspense, useDeferredValue, useMemo, useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { usePreference } from '../../app/preferences/preference.ts'
import { Waiting } from '../feedback/loading.tsx'
import { SelectField, TextField } from '../forms/fields.tsx'
import { DataTable } from '../tables/data-table.tsx'
import { type Colouring, colourings, entryOf, legendOf, type Painting } from './graph-colours.ts'
import { type Fate, type GraphData, keyOf, labelOf, thingsNamed } from './graph-data.ts'
import { GraphLegend } from './graph-legend.tsx'
import { graphMessages } from './messages.ts'
import { ThingPanel } from './node-panel.tsx'
import { useTypeName } from './node-type-name.ts'

const GraphCanvas = lazy(async () => ({ default: (await import('./graph-canvas.tsx')).GraphCanvas }))

type Given = {
  data: GraphData
  selected: string | undefined
  onSelect: (key: string | undefined) => void
  /** What stands out: keys of things and ids of relations. */
  emphasis?: ReadonlySet<string> | undefined
  /** What became of things between two times; the picture is then coloured by it. */
  fates?: ReadonlyMap<string, Fate> | undefined
  /** What can be done with the selected thing. */
  actions?: (thing: GraphNode) => ReactNode
  /** The thing that the picture is about, which always has its name. */
  root?: string
  /** Above the list: what is shown just now, and a way back. */
  notice?: ReactNode
}

/**
 * A part of the plant as a picture, with a list beside it that has the same: who cannot see or point finds every thing
 * there, and goes from one to the next along their relations.
 */
export function GraphExplorer({ data, selected, onSelect, emphasis, fates, actions, root, notice }: Given) {
  const text = useText(graphMessages)
  const [chosen, setChosen] = usePreference<Colouring>('graph.colour', 'type')
  const [only, setOnly] = useState<string>()
  const by = fates !== undefined ? 'change' : chosen === 'change' || !colourings.includes(chosen) ? 'type' : chosen
  const painting = useMemo<Painting>(() => ({ by, ...(fates && { fates }) }), [by, fates])
  const legend = useMemo(() => legendOf(data, painting), [data, painting])
  const shown = only !== undefined && legend.some(({ value }) => value === only) ? only : undefined
  const standsOut = useMemo(() => {
    if (shown === undefined) return emphasis
    const keys = [...data.nodes].filter(([, thing]) => entryOf(thing, painting, legend) === shown).map(([key]) => key)
    return new Set(keys)
  }, [shown, emphasis, data, painting, legend])
  const look = useMemo(
    () => ({ painting, legend, selected, root, emphasis: standsOut }),
    [painting, legend, selected, root, standsOut],
  )
  const thing = selected === undefined ? undefined : data.nodes.get(selected)
  const choices = colourings.filter((each) => (each === 'change') === (fates !== undefined))
  return (
    <div className="graph">
      <div className="graph-picture">
        <Suspense fallback={<Waiting />}>
          <GraphCanvas data={data} look={look} onSelect={onSelect} />
        </Suspense>
        <div className="graph-key">
          <SelectField
            label={text.colourBy}
            value={by}
            choices={choices.map((value) => ({ value, label: text[value] }))}
            onChange={setChosen}
          />
          <GraphLegend entries={legend} by={by} only={shown} onOnly={setOnly} />
        </div>
      </div>
      <div className="graph-side">
        {notice}
        {thing === undefined ? (
          <ThingList data={data} only={standsOut} onSelect={onSelect} />
        ) : (
          <ThingPanel data={data} thing={thing} onSelect={onSelect} actions={actions?.(thing)} />
        )}
      </div>
    </div>
  )
}

type ListGiven = {
  data: GraphData
  only: ReadonlySet<string> | undefined
  onSelect: (key: string) => void
}

function ThingList({ data, only, onSelect }: ListGiven) {
  const text = useText(graphMessages)
  const typeName = useTypeName()
  const [typed, setTyped] = useState('')
  const words = useDeferredValue(typed)
  const things = useMemo(
    () => thingsNamed(data, words).filter((thing) => only === undefined || only.has(keyOf(thing))),
    [data, words, only],
  )
  return (
    <>
      <TextField label={text.find} type="search" value={typed} onChange={setTyped} />
      <DataTable
        label={text.things}
        rows={things}
        idOf={keyOf}
        onOpen={(thing) => onSelect(keyOf(thing))}
        columns={[
          { id: 'name', header: text.name, width: 250, cell: (thing) => labelOf(thing) },
          { id: 'type', header: text.type, width: 90, cell: typeName },
        ]}
        empty={<p className="quiet">{text.nothingFound}</p>}
        isTall
      />
    </>
  )
}
