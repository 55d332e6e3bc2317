import { iconTrashcan } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { labelOf } from '../../../components/graph/graph-data.ts'
import { predicateName, relationName } from '../../../components/graph/predicate-name.ts'
import { Time } from '../../../components/values/time.tsx'
import { NodeLink } from '../../hierarchy/node-link.tsx'
import { assetMessages } from '../messages.ts'
import type { RelationRow } from './neighbourhood.ts'
import type { RelationGroup } from './relation-groups.ts'
import { NodeIcon } from './relation-map.tsx'

type RelationListProps = {
  groups: readonly RelationGroup[]
  /** Deletes a relation. Without it, the user cannot delete relations. */
  onDelete: ((row: RelationRow) => void) | undefined
}

/** `RelationList` lists the relations of an asset by relation type, with the source and the time of each relation. */
export function RelationList({ groups, onDelete }: RelationListProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const language = useLanguage()
  return (
    <section className="relation-list" aria-label={text.list}>
      {groups.map(({ key, predicate, direction, rows }) => (
        <div key={key}>
          <h3 className="relation-type" title={predicate}>
            {relationName(predicate, direction, language)} <span className="quiet">{formats.number(rows.length)}</span>
          </h3>
          <ul className="plain-list">
            {rows.map((row) => (
              <li key={row.relation.id} className="relation-row">
                <NodeIcon row={row} />
                <span className="relation-target">
                  {row.other.type === 'asset' ? (
                    <Link to="/assets/$id" params={{ id: row.other.id }}>
                      {labelOf(row.node)}
                    </Link>
                  ) : (
                    <NodeLink id={row.other.id} label={labelOf(row.node)} />
                  )}
                  <span className="relation-origin quiet">
                    <Time at={row.relation.createdTimestamp} /> ·{' '}
                    {row.relation.source.value ?? row.relation.source.type}
                  </span>
                </span>
                {onDelete !== undefined && (
                  <IxIconButton
                    icon={iconTrashcan}
                    size="16"
                    variant="subtle-tertiary"
                    aria-label={`${text.deleteRelation}: ${predicateName(predicate, language)} ${labelOf(row.node)}`}
                    onClick={() => onDelete(row)}
                  />
                )}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  )
}
