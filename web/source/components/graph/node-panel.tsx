import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { iconArrowLeft } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { Icon } from '../values/icon.tsx'
import { KeyValueList } from '../values/key-value-list.tsx'
import { type GraphData, keyOf, labelOf, type Neighbour, neighboursOf } from './graph-data.ts'
import { graphMessages } from './messages.ts'
import { useNodeTypeName } from './node-type-name.ts'
import { predicateName } from './predicate-name.ts'

type NodePanelProps = {
  data: GraphData
  node: GraphNode
  onSelect: (key: string | undefined) => void
  actions?: ReactNode
}

/**
 * `NodePanel` shows one node and its relations. A click on a relation selects the node at the other end of the
 * relation.
 */
export function NodePanel({ data, node, onSelect, actions }: NodePanelProps) {
  const text = useText(graphMessages)
  const typeName = useNodeTypeName()
  const heading = useRef<HTMLHeadingElement>(null)
  const key = keyOf(node)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heading takes the focus for every new node
  useEffect(() => heading.current?.focus({ preventScroll: true }), [key])
  return (
    <div className="graph-node">
      <button type="button" className="link-button graph-node-back" onClick={() => onSelect(undefined)}>
        <Icon name={iconArrowLeft} size={16} />
        {text.all}
      </button>
      <h2 ref={heading} tabIndex={-1} className="graph-node-name">
        {labelOf(node)}
      </h2>
      <KeyValueList
        items={[
          { name: text.type, value: typeName(node) },
          { name: text.manufacturer, value: node.manufacturer },
          node.management_state !== undefined && { name: text.management, value: text[node.management_state] },
          node.reachability_state !== undefined && {
            name: text.reachability,
            value: node.reachability_state === 'unknown' ? text.reachUnknown : text[node.reachability_state],
          },
        ]}
      />
      <div className="graph-node-actions">
        {node.type === 'asset' && (
          <Link to="/assets/$id" params={{ id: node.id }} className="button-link">
            {text.open}
          </Link>
        )}
        {actions}
      </div>
      <Relations data={data} neighbours={neighboursOf(data, key)} node={node} onSelect={onSelect} />
    </div>
  )
}

type RelationsProps = Pick<NodePanelProps, 'data' | 'node' | 'onSelect'> & { neighbours: readonly Neighbour[] }

/** The maximum number of relations in the list. */
const maxListed = 200

function Relations({ data, node, neighbours, onSelect }: RelationsProps) {
  const text = useText(graphMessages)
  const language = useLanguage()
  if (neighbours.length === 0) return <p className="quiet">{text.noRelations}</p>
  const groups = Map.groupBy(neighbours.slice(0, maxListed), ({ edge, direction }) => `${direction} ${edge.predicate}`)
  return (
    <div className="graph-node-relations">
      <h3>{text.relationsOf(labelOf(node))}</h3>
      {[...groups.values()].map((members) => {
        const [first] = members
        if (first === undefined) return null
        return (
          <div key={`${first.direction} ${first.edge.predicate}`}>
            <p className="graph-node-predicate">
              <span className="quiet">{first.direction === 'out' ? text.out : text.in}</span>{' '}
              <span title={first.edge.predicate}>{predicateName(first.edge.predicate, language)}</span>
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
      {neighbours.length > maxListed && <p className="quiet">+ {neighbours.length - maxListed}</p>}
    </div>
  )
}
