import type { GraphNode } from '@millwright/api/inventory.ts'
import { iconArrowLeft } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { Icon } from '../values/icon.tsx'
import { Facts } from '../values/property-list.tsx'
import { type GraphData, keyOf, labelOf, type Neighbour, neighboursOf } from './graph-data.ts'
import { graphMessages } from './messages.ts'
import { useTypeName } from './node-type-name.ts'

type Given = {
  data: GraphData
  thing: GraphNode
  onSelect: (key: string | undefined) => void
  actions: ReactNode
}

/** One thing of the graph, and from it along its relations to the next. */
export function ThingPanel({ data, thing, onSelect, actions }: Given) {
  const text = useText(graphMessages)
  const typeName = useTypeName()
  const heading = useRef<HTMLHeadingElement>(null)
  const key = keyOf(thing)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another thing is another panel
  useEffect(() => heading.current?.focus({ preventScroll: true }), [key])
  return (
    <div className="thing">
      <button type="button" className="link-button thing-back" onClick={() => onSelect(undefined)}>
        <Icon name={iconArrowLeft} size={16} />
        {text.all}
      </button>
      <h2 ref={heading} tabIndex={-1} className="thing-name">
        {labelOf(thing)}
      </h2>
      <Facts
        facts={[
          { name: text.type, value: typeName(thing) },
          { name: text.manufacturer, value: thing.manufacturer },
          thing.management_state !== undefined && { name: text.management, value: text[thing.management_state] },
          thing.reachability_state !== undefined && {
            name: text.reachability,
            value: thing.reachability_state === 'unknown' ? text.reachUnknown : text[thing.reachability_state],
          },
        ]}
      />
      <div className="thing-actions">
        {thing.type === 'asset' && (
          <Link to="/assets/$id" params={{ id: thing.id }} className="button-link">
            {text.open}
          </Link>
        )}
        {actions}
      </div>
      <Relations data={data} neighbours={neighboursOf(data, key)} thing={thing} onSelect={onSelect} />
    </div>
  )
}

type RelationsGiven = Pick<Given, 'data' | 'thing' | 'onSelect'> & { neighbours: readonly Neighbour[] }

/** A thing that everything hangs on has more than anybody reads. */
const mostListed = 200

function Relations({ data, thing, neighbours, onSelect }: RelationsGiven) {
  const text = useText(graphMessages)
  if (neighbours.length === 0) return <p className="quiet">{text.noRelations}</p>
  const groups = Map.groupBy(neighbours.slice(0, mostListed), ({ edge, way }) => `${way} ${edge.predicate}`)
  return (
    <div className="thing-relations">
      <h3>{text.relationsOf(labelOf(thing))}</h3>
      {[...groups.values()].map((members) => {
        const [first] = members
        if (first === undefined) return null
        return (
          <div key={`${first.way} ${first.edge.predicate}`}>
            <p className="thing-predicate">
              <span className="quiet">{first.way === 'out' ? text.out : text.in}</span>{' '}
              <code>{first.edge.predicate}</code>
            </p>
            <ul className="plain-list">
              {members.map(({ edge, key }) => (
                <li key={edge.id}>
                  <button type="button" className="link-button" onClick={() => onSelect(key)}>
                    {labelOf(data.nodes.get(key))}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
      {neighbours.length > mostListed && <p className="quiet">+ {neighbours.length - mostListed}</p>}
    </div>
  )
}
