import { type Artefact, updateLimits } from '@millwright/api/updates.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { AssetPicker } from '../../../components/forms/asset-picker.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { FilterPanel } from '../../assets/filter/filter-panel.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { useHierarchies, useLastHierarchy } from '../../hierarchy/hierarchy-data.ts'
import { NodeBrowser } from '../../hierarchy/tree/node-browser.tsx'
import { productsFilter } from '../product-filter.ts'
import { type TargetForm, targetKinds, targetsOf } from './campaign-form.ts'
import { wizardMessages } from './messages.ts'
import '../../assets/assets.css'
import '../../hierarchy/hierarchy.css'

type TargetStepProps = {
  artefact: Artefact
  form: TargetForm
  onChange: (form: TargetForm) => void
  isMissing: boolean
}

/** `TargetStep` chooses the targets of a campaign, and shows how many assets match. */
export function TargetStep({ artefact, form, onChange, isMissing }: TargetStepProps) {
  const text = useText(wizardMessages)
  const canReadNodes = usePermission('glb_hierarchy_read')
  const kinds = targetKinds.filter((kind) => kind !== 'node' || canReadNodes)
  return (
    <fieldset className="group">
      <legend>{text.targets}</legend>
      <ViewSwitch
        label={text.targetKind}
        choices={kinds.map((value) => ({ value, label: text[value] }))}
        chosen={form.kind}
        onChoose={(kind) => onChange({ ...form, kind })}
      />
      {form.kind === 'products' && (
        <p>
          {text.productsText} <strong>{artefact.products.join(', ')}</strong>
        </p>
      )}
      {form.kind === 'filter' && <FilterTargets form={form} onChange={onChange} />}
      {form.kind === 'node' && <NodeTargets form={form} onChange={onChange} />}
      {form.kind === 'assets' && <AssetTargets form={form} onChange={onChange} />}
      <TargetCount artefact={artefact} form={form} />
      {isMissing && <p className="field-error">{text.targetsMissing}</p>}
    </fieldset>
  )
}

type TargetFieldsProps = Pick<TargetStepProps, 'form' | 'onChange'>

function FilterTargets({ form, onChange }: TargetFieldsProps) {
  const properties = useAssetProperties()
  return (
    <FilterPanel
      key={form.filter}
      filter={form.filter}
      properties={properties}
      onApply={(filter) => onChange({ ...form, filter })}
    />
  )
}

function NodeTargets({ form, onChange }: TargetFieldsProps) {
  const text = useText(wizardMessages)
  const { data: hierarchies } = useHierarchies()
  const [last] = useLastHierarchy()
  const [chosen, setChosen] = useState<string>()
  const hierarchyId = chosen ?? hierarchies?.find(({ id }) => id === last)?.id ?? hierarchies?.[0]?.id
  if (hierarchies === undefined) return null
  if (hierarchyId === undefined) return <p className="quiet">{text.noHierarchies}</p>
  return (
    <>
      <p>{text.nodeText}</p>
      <SelectField
        label={text.hierarchy}
        value={hierarchyId}
        onChange={(id) => {
          setChosen(id)
          onChange({ ...form, nodeId: undefined })
        }}
        choices={hierarchies.map(({ id, name }) => ({ value: id, label: name }))}
      />
      <div className="node-choice">
        <NodeBrowser
          key={hierarchyId}
          hierarchyId={hierarchyId}
          selected={form.nodeId}
          onSelect={({ id }) => onChange({ ...form, nodeId: id })}
          empty={null}
        />
      </div>
    </>
  )
}

/** The number of selected assets that are listed with a button. */
const listedAssets = 30

function AssetTargets({ form, onChange }: TargetFieldsProps) {
  const text = useText(wizardMessages)
  const formats = useFormats()
  const { assets } = form
  return (
    <>
      <AssetPicker
        label={text.addAsset}
        picked={undefined}
        onPick={(asset) => {
          if (asset === undefined || assets.some(({ id }) => id === asset.id)) return
          onChange({ ...form, assets: [...assets, asset] })
        }}
      />
      {assets.length === 0 ? (
        <p className="quiet">{text.noAssets}</p>
      ) : (
        <ul className="picked-assets">
          {assets.slice(0, listedAssets).map((asset) => (
            <li key={asset.id}>
              <PickedName {...asset} />{' '}
              <button
                type="button"
                className="link-button"
                aria-label={text.removeAsset(asset.name ?? asset.id)}
                onClick={() => onChange({ ...form, assets: assets.filter(({ id }) => id !== asset.id) })}
              >
                ×
              </button>
            </li>
          ))}
          {assets.length > listedAssets && <li>{text.moreAssets(formats.number(assets.length - listedAssets))}</li>}
        </ul>
      )}
    </>
  )
}

function PickedName({ id, name }: { id: string; name?: string | undefined }) {
  const query = useOperationQuery()
  const asset = useQuery({
    ...query(['inventory', 'readAsset'], { params: { id }, query: { fields: 'id,name' } }),
    enabled: name === undefined,
  })
  const loaded = (asset.data?.data as { name?: unknown } | undefined)?.name
  return name ?? (typeof loaded === 'string' ? loaded : id)
}

/** `TargetCount` shows how many assets match the targets now. */
function TargetCount({ artefact, form }: Pick<TargetStepProps, 'artefact' | 'form'>) {
  const text = useText(wizardMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const targets = targetsOf(form, productsFilter(artefact.products))
  const scope =
    form.kind === 'node'
      ? form.nodeId && { hierarchyNode: form.nodeId, includeBelow: true }
      : targets !== undefined && 'filter' in targets && { filter: targets.filter }
  const counted = useQuery({
    ...query(
      ['inventory', 'listAssets'],
      { query: { limit: 1, fields: 'id', ...(scope || {}) } },
      { live: ['inventory.asset', 'inventory.relation'] },
    ),
    enabled: Boolean(scope),
  })
  if (form.kind !== 'assets' && !scope) return null
  if (counted.error !== null && scope) return <ProblemMessage failure={counted.error} />
  const count = form.kind === 'assets' ? form.assets.length : counted.data?.meta.totalElements
  return (
    <div role="status">
      {count === undefined ? (
        <p className="quiet">{text.counting}</p>
      ) : (
        <p className="target-count">
          <strong>{formats.number(count)}</strong> {text.count(count)}
        </p>
      )}
      {count !== undefined && count > updateLimits.targets ? (
        <p className="field-error">{text.tooMany(formats.number(updateLimits.targets))}</p>
      ) : (
        <p className="field-hint">{text.countHint}</p>
      )}
    </div>
  )
}
