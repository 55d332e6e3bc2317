import type { AssetClass } from '@millwright/api/asset-class.ts'
import { assetClassOf } from '@millwright/api/asset-class.ts'
import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { iconHierarchy } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { useLayoutEffect, useRef, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { labelOf } from '../../../components/graph/graph-data.ts'
import { isOutward, relationName } from '../../../components/graph/predicate-name.ts'
import { assetClassIcons } from '../../../components/values/asset-classes.ts'
import { Icon } from '../../../components/values/icon.tsx'
import { commonParts, distinctName } from '../../topology/map/names.ts'
import { assetMessages } from '../messages.ts'
import type { RelationRow } from './neighbourhood.ts'
import type { RelationGroup, RelationSide } from './relation-groups.ts'

type RelationMapProps = { name: string; assetClass: AssetClass; groups: readonly RelationGroup[] }

/** The largest numbers of assets of a group in the picture. The list next to the picture contains all. */
const maxShown: Readonly<Record<RelationSide, number>> = { above: 8, left: 6, right: 6, below: 12 }

/**
 * `RelationMap` shows an asset with its relations in layers: what it belongs to above, its modules and parts below, its network at the
 * right and other relations at the left. Each arrow has the direction in which the name of its group is read.
 */
export function RelationMap({ name, assetClass, groups }: RelationMapProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { frame, arrows } = useArrows(groups)
  const names = [name, ...groups.flatMap(({ rows }) => rows.flatMap(({ other, node }) => assetName(other.type, node)))]
  const { start } = commonParts(names)
  const count = groups.reduce((sum, { rows }) => sum + rows.length, 0)
  const side = (each: RelationSide) => {
    const own = groups.filter((group) => group.side === each)
    return (
      <div className="relation-side" data-side={each}>
        {own.map((group) => (
          <section key={group.key} className="relation-group" data-group={group.key}>
            <h3 className="relation-type" title={group.predicate}>
              {relationName(group.predicate, group.direction, language)}
              {group.rows.length > 1 && <span className="quiet"> {formats.number(group.rows.length)}</span>}
            </h3>
            <ul className="relation-nodes">
              {group.rows.slice(0, maxShown[each]).map((row) => (
                <li key={row.relation.id}>
                  <NodeCard row={row} start={start} />
                </li>
              ))}
              {group.rows.length > maxShown[each] && (
                <li className="quiet">{text.moreInList(formats.number(group.rows.length - maxShown[each]))}</li>
              )}
            </ul>
          </section>
        ))}
      </div>
    )
  }
  return (
    <div className="relation-map" ref={frame} data-relations={count} role="group" aria-label={text.relationMap(name)}>
      <svg className="relation-arrows" aria-hidden="true">
        {arrows.map(({ key, path, head }) => (
          <g key={key}>
            <path d={path} />
            <polygon points={head} />
          </g>
        ))}
      </svg>
      {side('above')}
      {side('left')}
      <div className="relation-centre" data-centre="true" title={name}>
        <Icon name={assetClassIcons[assetClass]} size={24} />
        <strong>{distinctName(name, { start, end: 0 })}</strong>
        <span className="quiet">{text.thisAsset}</span>
      </div>
      {side('right')}
      {side('below')}
    </div>
  )
}

function assetName(type: string, node: GraphNode | undefined): string[] {
  return type === 'asset' && node?.name ? [node.name] : []
}

export function NodeIcon({ row: { other, node } }: { row: RelationRow }) {
  const assetClass = assetClassOf({ type: node?.functional_object_type, name: node?.name })
  return <Icon name={other.type === 'asset' ? assetClassIcons[assetClass] : iconHierarchy} size={16} />
}

function NodeCard({ row, start }: { row: RelationRow; start: number }) {
  const { other, node } = row
  const full = labelOf(node)
  const short = other.type === 'asset' && node?.name ? distinctName(full, { start, end: 0 }) : full
  const content = (
    <>
      <NodeIcon row={row} />
      <span>{short}</span>
    </>
  )
  return other.type === 'asset' ? (
    <Link
      to="/assets/$id"
      params={{ id: other.id }}
      search={{ tab: 'relations' } as never}
      className="relation-node"
      title={full}
    >
      {content}
    </Link>
  ) : (
    <Link to="/hierarchy" search={{ node: other.id } as never} className="relation-node" title={full}>
      {content}
    </Link>
  )
}

type Arrow = { key: string; path: string; head: string }
type Rectangle = { left: number; right: number; top: number; bottom: number }

/** Measures the groups after each layout, and returns the arrows between them and the asset in the middle. */
function useArrows(groups: readonly RelationGroup[]) {
  const frame = useRef<HTMLDivElement>(null)
  const [arrows, setArrows] = useState<readonly Arrow[]>([])
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null) return
    const measure = () => {
      const origin = element.getBoundingClientRect()
      const inside = (part: Element | null): Rectangle | undefined => {
        if (part === null) return undefined
        const { left, right, top, bottom } = part.getBoundingClientRect()
        return {
          left: left - origin.left,
          right: right - origin.left,
          top: top - origin.top,
          bottom: bottom - origin.top,
        }
      }
      const centre = inside(element.querySelector('[data-centre]'))
      if (centre === undefined) return
      setArrows(
        groups.flatMap(({ key, side, direction, predicate }) => {
          const own = inside(element.querySelector(`[data-group="${CSS.escape(key)}"]`))
          return own === undefined
            ? []
            : [{ key, ...arrowBetween(own, centre, { side, isToCentre: !isOutward(predicate, direction) }) }]
        }),
      )
    }
    measure()
    const resized = new ResizeObserver(measure)
    resized.observe(element)
    return () => resized.disconnect()
  }, [groups])
  return { frame, arrows }
}

type Point = { x: number; y: number }

/** Returns a line in right angles between a group and the asset in the middle, with its head where the name of the relation leads. */
function arrowBetween(
  group: Rectangle,
  centre: Rectangle,
  { side, isToCentre }: { side: RelationSide; isToCentre: boolean },
): Omit<Arrow, 'key'> {
  const [x, y] = [(group.left + group.right) / 2, (group.top + group.bottom) / 2]
  const [middleX, middleY] = [(centre.left + centre.right) / 2, (centre.top + centre.bottom) / 2]
  // In one column, as on a phone, the groups at the sides are above or below the asset too.
  const isBeside = (side === 'left' || side === 'right') && (group.right <= centre.left || group.left >= centre.right)
  const isFirst = isBeside ? x < middleX : y < middleY
  const from: Point = isBeside
    ? { x: isFirst ? group.right : group.left, y }
    : { x, y: isFirst ? group.bottom : group.top }
  const to: Point = isBeside
    ? { x: isFirst ? centre.left : centre.right, y: middleY }
    : { x: middleX, y: isFirst ? centre.top : centre.bottom }
  const [turnX, turnY] = [(from.x + to.x) / 2, (from.y + to.y) / 2]
  const path = isBeside
    ? `M${from.x} ${from.y}H${turnX}V${to.y}H${to.x}`
    : `M${from.x} ${from.y}V${turnY}H${to.x}V${to.y}`
  const end = isToCentre ? to : from
  const sign = isFirst === isToCentre ? 1 : -1
  const head = isBeside
    ? [end, { x: end.x - 9 * sign, y: end.y - 5 }, { x: end.x - 9 * sign, y: end.y + 5 }]
    : [end, { x: end.x - 5, y: end.y - 9 * sign }, { x: end.x + 5, y: end.y - 9 * sign }]
  return { path, head: head.map((point) => `${point.x},${point.y}`).join(' ') }
}
