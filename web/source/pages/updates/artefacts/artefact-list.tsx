import { type Artefact, artefactKinds } from '@millwright/api/updates.ts'
import { iconPackage } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { SignatureChip } from '../state-chips.tsx'
import { kindNames } from '../state-names.ts'
import { updateEvents } from '../update-data.ts'
import { type ArtefactText, artefactMessages } from './messages.ts'
import { UploadDialog } from './upload-dialog.tsx'

/** `ArtefactList` is the library: it lists artefacts, newest first, and uploads new ones. */
export function ArtefactList() {
  const text = useText(artefactMessages)
  const kinds = useText(kindNames)
  const formats = useFormats()
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const [search, setSearch] = useSearchState<'q' | 'kind'>()
  const [isUploading, setUploading] = useCreateDialog()
  const kind = artefactKinds.find((each) => each === search.kind)
  const pagedList = usePagedList(
    ['updates', 'listArtefacts'],
    { query: { ...(search.q && { q: search.q }), ...(kind && { kind }) } },
    updateEvents,
  )
  const isFiltered = search.q !== undefined || kind !== undefined
  const showAll = () => setSearch({ q: undefined, kind: undefined })
  const uploadButton = canManage && <IxButton onClick={() => setUploading(true)}>{text.upload}</IxButton>
  const hasEntries = useHasEntries(pagedList, isFiltered)
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
          <SearchField
            value={search.q ?? ''}
            onChange={(q) => setSearch({ q })}
            label={text.search}
            hint={text.searchHint}
          />
          <SelectField
            label={text.kind}
            isLabelUnseen
            value={kind ?? ''}
            onChange={(value) => setSearch({ kind: value })}
            choices={[
              { value: '', label: text.anyKind },
              ...artefactKinds.map((value) => ({ value, label: kinds[value] })),
            ]}
          />
          {uploadButton}
        </Toolbar>
      )}
      <PagedTable
        label={text.artefacts}
        pagedList={pagedList}
        columns={columnsOf(text, { formats, kinds })}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/updates/artefacts/${id}` })}
        empty={
          <EmptyState icon={iconPackage} title={isFiltered ? text.noMatches : text.none}>
            <p>{isFiltered ? text.noMatchesHint : text.noneHint}</p>
            {!isFiltered && uploadButton}
            {isFiltered && (
              <IxButton variant="secondary" onClick={showAll}>
                {text.showAll}
              </IxButton>
            )}
          </EmptyState>
        }
      />
      {isUploading && canManage && <UploadDialog onClose={() => setUploading(false)} />}
    </>
  )
}

type ColumnContext = { formats: Formats; kinds: Readonly<Record<Artefact['kind'], string>> }

function columnsOf(text: ArtefactText, { formats, kinds }: ColumnContext): Column<Artefact>[] {
  return [
    {
      id: 'name',
      header: text.name,
      width: 240,
      cell: ({ id, name }) => <Link to={`/updates/artefacts/${id}`}>{name}</Link>,
    },
    { id: 'version', header: text.version, width: 110, cell: ({ version }) => version },
    { id: 'kind', header: text.kind, width: 120, cell: ({ kind }) => kinds[kind] },
    { id: 'use', header: text.use, width: 170, cell: (artefact) => <UseChip artefact={artefact} /> },
    { id: 'signature', header: text.signature, width: 210, cell: ({ signature }) => <SignatureChip {...signature} /> },
    { id: 'manufacturer', header: text.manufacturer, width: 150, cell: ({ manufacturer }) => manufacturer },
    { id: 'products', header: text.products, width: 220, cell: ({ products }) => products.join(', ') },
    { id: 'size', header: text.size, width: 100, isNumber: true, cell: ({ size }) => formats.bytes(size) },
    { id: 'created', header: text.created, width: 170, cell: (artefact) => <Time at={artefact.createdTimestamp} /> },
  ]
}

/** `UseChip` shows whether a campaign can install an artefact, or how much of its content is stored. */
export function UseChip({ artefact }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  const formats = useFormats()
  if (artefact.content.state !== 'complete') {
    return <StatusChip tone="warning">{contentText(text, formats, artefact)}</StatusChip>
  }
  return (
    <StatusChip tone={artefact.isUsable ? 'good' : 'bad'}>
      {artefact.isUsable ? text.usable : text.notUsable}
    </StatusChip>
  )
}

/** Returns how much of the content of an artefact is stored. */
export function contentText(text: ArtefactText, formats: Formats, { content, size }: Artefact): string {
  if (content.state === 'complete') return text.contentComplete
  if (content.state === 'missing' || size === 0) return text.contentMissing
  return text.contentPartial(formats.percent(content.receivedBytes / size))
}
