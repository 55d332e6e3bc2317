import { lazy, Suspense, useDeferredValue, useMemo, useState } from 'react'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { usePreference } from '../../app/preferences/preference.ts'
import { Loading } from '../feedback/loading.tsx'
import { SelectField, TextField } from '../forms/fields.tsx'
import { DataTable } from '../tables/data-table.tsx'
import { type Colouring, type ColourScheme, colourings, entryOf, legendOf } from './graph-colours.ts'
import { type GraphData, keyOf, labelOf, neighboursOf, nodesNamed } from './graph-data.ts'
import { GraphLegend } from './graph-legend.tsx'
import { graphMessages } from './messages.ts'
import { NodePanel } from './node-panel.tsx'
import { predicateName } from './predicate-name.ts'

const GraphCanvas = lazy(async () => ({ default: (await import('./graph-canvas.tsx')).GraphCanvas }))

type GraphExplorerProps = {
  data: GraphData
  selected: string | undefined
  onSelect: (key: string | undefined) => void
  /** The main node of the graph. Its label is always shown, and the list shows the relations of the other nodes to it. */
  root: string
}

/**
 * `GraphExplorer` shows a graph, and next to it a list with the same nodes. The list makes the graph usable with a
 * keyboard and with a screen reader.
 */
export function GraphExplorer({ data, selected, onSelect, root }: GraphExplorerProps) {
  const text = useText(graphMessages)
  const [chosen, setChosen] = usePreference<Colouring>('graph.colour', 'type')
  const [onlyValue, setOnly] = useState<string>()
  const by = colourings.includes(chosen) ? chosen : 'type'
  const scheme = useMemo<ColourScheme>(() => ({ by }), [by])
  const legend = useMemo(() => legendOf(data, scheme), [data, scheme])
  const shown = onlyValue !== undefined && legend.some(({ value }) => value === onlyValue) ? onlyValue : undefined
  const highlighted = useMemo(() => {
    if (shown === undefined) return undefined
    const keys = [...data.nodes].filter(([, node]) => entryOf(node, scheme, legend) === shown).map(([key]) => key)
    return new Set(keys)
  }, [shown, data, scheme, legend])
  const language = useLanguage()
  const appearance = useMemo(
    () => ({ scheme, legend, selected, root, emphasis: highlighted, language }),
    [scheme, legend, selected, root, highlighted, language],
  )
  const node = selected === undefined ? undefined : data.nodes.get(selected)
  return (
    <div className="graph">
      <div className="graph-picture">
        <Suspense fallback={<Loading />}>
          <GraphCanvas data={data} appearance={appearance} onSelect={onSelect} />
        </Suspense>
        <div className="graph-key">
          <SelectField
            label={text.colourBy}
            value={by}
            choices={colourings.map((value) => ({ value, label: text[value] }))}
            onChange={setChosen}
          />
          <GraphLegend entries={legend} by={by} only={shown} onOnly={setOnly} />
        </div>
      </div>
      <div className="graph-side">
        {node === undefined ? (
          <GraphNodeList data={data} root={root} onlyValue={highlighted} onSelect={onSelect} />
        ) : (
          <NodePanel data={data} node={node} onSelect={onSelect} />
        )}
      </div>
    </div>
  )
}

type GraphNodeListProps = {
  data: GraphData
  root: string
  onlyValue: ReadonlySet<string> | undefined
  onSelect: (key: string) => void
}

function GraphNodeList({ data, root, onlyValue, onSelect }: GraphNodeListProps) {
  const text = useText(graphMessages)
  const language = useLanguage()
  const [typed, setTyped] = useState('')
  const words = useDeferredValue(typed)
  const nodes = useMemo(
    () => nodesNamed(data, words).filter((node) => onlyValue === undefined || onlyValue.has(keyOf(node))),
    [data, words, onlyValue],
  )
  const relations = useMemo(() => Map.groupBy(neighboursOf(data, root), ({ key }) => key), [data, root])
  const relationsTo = (key: string) => {
    if (key === root) return text.thisNode
    const own = (relations.get(key) ?? []).map(({ edge, direction }) => ({
      direction,
      name: predicateName(edge.predicate, language),
    }))
    const short = own.map(({ direction, name }) => `${direction === 'out' ? '→' : '←'} ${name}`)
    const full = own.map(({ direction, name }) => `${direction === 'out' ? text.out : text.in}: ${name}`)
    return <span title={full.join('\n')}>{[...new Set(short)].join(', ') || '–'}</span>
  }
  return (
    <>
      <TextField label={text.find} type="search" value={typed} onChange={setTyped} />
      <DataTable
        label={text.nodes}
        rows={nodes}
        idOf={keyOf}
        onOpen={(node) => onSelect(keyOf(node))}
        columns={[
          { id: 'name', header: text.name, width: 232, cell: (node) => labelOf(node) },
          { id: 'relation', header: text.relation, width: 146, cell: (node) => relationsTo(keyOf(node)) },
        ]}
        empty={<p className="quiet">{text.nothingFound}</p>}
        isTall
      />
    </>
  )
}
