import { type ActivityKind, activityKinds, assetActivity } from '@millwright/api/activity-kinds.ts'
import { iconFilter } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { usePermission, useRights } from '../../app/session/app-context.tsx'
import { AssetPicker } from '../../components/forms/asset-picker.tsx'
import { CheckField, SelectField } from '../../components/forms/fields.tsx'
import { FilterChips } from '../../components/forms/filter-chips.tsx'
import { useNode } from '../hierarchy/hierarchy-data.ts'
import { NodeChoiceDialog } from '../hierarchy/node/node-choice-dialog.tsx'
import { type ActivityFilters, type ActivitySearch, usePeople } from './activity-data.ts'
import { authorName } from './author-name.ts'
import { activityMessages } from './messages.ts'
import type { TimeRange } from './time-range.ts'

type Change = Partial<Record<ActivitySearch, string | undefined>>

type FilterBarProps = { filters: ActivityFilters; range: TimeRange; onChange: (change: Change) => unknown }

const nothing: Change = {
  kind: undefined,
  person: undefined,
  asset: undefined,
  node: undefined,
  object: undefined,
  all: undefined,
}

/** `ActivityFilterBar` shows the fields for the kind, the person and the asset, opens further fields, and shows the filters as chips. */
export function ActivityFilterBar({ filters, range, onChange }: FilterBarProps) {
  const text = useText(activityMessages)
  const [isOpen, setOpen] = useState(false)
  const names = useFilterNames(filters, range)
  const rights = useRights()
  const canReadAssets = rights.has('inventory_read_asset_data') || rights.has('glb_inventory_read_gateway_data')
  const hasFurther = rights.has('glb_hierarchy_read') || rights.has('glb_audit_read')
  return (
    <search className="activity-filters" aria-label={text.filters}>
      <div className="activity-bar">
        <MainFields filters={filters} range={range} onChange={onChange} />
        {canReadAssets && (
          <AssetPicker
            label={text.asset}
            picked={
              filters.asset === undefined
                ? undefined
                : { id: filters.asset, name: names.find(({ name }) => name === 'asset')?.value ?? '' }
            }
            onPick={(asset) => onChange({ asset: asset?.id })}
          />
        )}
        {hasFurther && (
          <IxButton variant="secondary" icon={iconFilter} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {text.moreFilters}
          </IxButton>
        )}
      </div>
      {isOpen && <FurtherFields filters={filters} onChange={onChange} />}
      {names.length > 0 && (
        <FilterChips
          chips={names.map(({ name, label, value }) => ({
            id: name,
            label: `${label}:`,
            value,
            onRemove: () => onChange({ [name]: undefined }),
          }))}
          onClear={names.length > 1 ? () => onChange(nothing) : undefined}
        />
      )}
    </search>
  )
}

function MainFields({ filters, range, onChange }: FilterBarProps) {
  const text = useText(activityMessages)
  const canReadAudit = usePermission('glb_audit_read')
  const people = usePeople(range)
  const kinds = activityKinds.filter((kind) => canReadAudit || Object.hasOwn(assetActivity, kind))
  const listed = people.data ?? []
  const isListed = filters.person === undefined || listed.some(({ id }) => id === filters.person)
  return (
    <>
      <SelectField<ActivityKind | ''>
        label={text.kind}
        value={filters.kind ?? ''}
        onChange={(kind) => onChange({ kind })}
        choices={[
          { value: '', label: text.allKinds },
          ...kinds.map((value) => ({ value, label: text[`kind_${value}`] })),
        ]}
      />
      <SelectField
        label={text.person}
        value={filters.person ?? ''}
        onChange={(person) => onChange({ person })}
        choices={[
          { value: '', label: text.anyone },
          ...listed.map(({ id, name }) => ({ value: id, label: authorName(name) })),
          ...(isListed ? [] : [{ value: filters.person ?? '', label: filters.person ?? '' }]),
        ]}
      />
    </>
  )
}

function FurtherFields({ filters, onChange }: Pick<FilterBarProps, 'filters' | 'onChange'>) {
  const text = useText(activityMessages)
  const canReadAudit = usePermission('glb_audit_read')
  const canReadHierarchy = usePermission('glb_hierarchy_read')
  const [isChoosingNode, setChoosingNode] = useState(false)
  return (
    <div className="question question-small activity-fields">
      {canReadHierarchy && (
        <div className="field">
          <span className="field-label">{text.node}</span>
          <IxButton variant="secondary" onClick={() => setChoosingNode(true)}>
            {text.chooseNode}
          </IxButton>
        </div>
      )}
      {canReadAudit && (
        <CheckField
          label={text.all}
          hint={text.allHint}
          isChecked={filters.all === true}
          onChange={(isChecked) => onChange({ all: isChecked ? 'true' : undefined })}
        />
      )}
      {isChoosingNode && (
        <NodeChoiceDialog
          title={text.chooseNode}
          hint={text.chooseNodeHint}
          selected={filters.node}
          onChoose={({ id }) => {
            setChoosingNode(false)
            onChange({ node: id })
          }}
          onClose={() => setChoosingNode(false)}
        />
      )}
    </div>
  )
}

type FilterName = { name: ActivitySearch; label: string; value: string }

/** Returns the active filters with the names of their values. */
function useFilterNames(filters: ActivityFilters, range: TimeRange): FilterName[] {
  const text = useText(activityMessages)
  const query = useOperationQuery()
  const { kind, person, asset, node, object, all } = filters
  const people = usePeople(range)
  const named = useQuery({
    ...query(['inventory', 'readAsset'], { params: { id: asset ?? '' }, query: { fields: 'id,name' } }),
    enabled: asset !== undefined,
  })
  const nodeName = useNode(node).data?.name
  const assetName = (named.data?.data as { name?: unknown } | undefined)?.name
  const names: (FilterName | false)[] = [
    kind !== undefined && { name: 'kind', label: text.kind, value: text[`kind_${kind}`] },
    person !== undefined && {
      name: 'person',
      label: text.person,
      value: authorName(people.data?.find(({ id }) => id === person)?.name ?? '…'),
    },
    asset !== undefined && {
      name: 'asset',
      label: text.asset,
      value: typeof assetName === 'string' ? assetName : asset.slice(0, 8),
    },
    node !== undefined && { name: 'node', label: text.node, value: nodeName ?? '…' },
    object !== undefined && { name: 'object', label: text.object, value: object },
    all === true && { name: 'all', label: text.alsoShown, value: text.background },
  ]
  return names.filter((one) => one !== false)
}
