import type { ImportMapping } from '@millwright/api/imports.ts'
import { iconImport } from '@siemens/ix-icons/icons'
import { useQueryClient } from '@tanstack/react-query'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { fileMessages } from '../messages.ts'
import { useFields } from './field-names.ts'

/** `MappingList` lists the saved mappings of columns. */
export function MappingList() {
  const text = useText(fileMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const { fields } = useFields()
  const pagedList = usePagedList(['imports', 'listMappings'], {}, { live: ['imports.mapping'] })
  const nameOf = (to: string | null) => fields.find(({ value }) => value === to)?.label ?? to
  const remove = async ({ id: mappingId }: ImportMapping) => {
    await api.imports.deleteMapping({ params: { mappingId } })
    showSuccess(text.deleted)
    await queryClient.invalidateQueries({ queryKey: keyOf('imports') })
  }
  const columns: Column<ImportMapping>[] = [
    { id: 'name', header: text.mapping, width: 240, cell: ({ name }) => name },
    {
      id: 'columns',
      header: text.mappedColumns,
      width: 560,
      cell: (mapping) =>
        mapping.columns
          .filter(({ to }) => to !== null)
          .map(({ from, to }) => `${from} → ${nameOf(to)}`)
          .join(', '),
    },
    {
      id: 'time',
      header: text.changed,
      width: 170,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} />,
    },
    {
      id: 'actions',
      header: text.actions,
      width: 130,
      cell: (mapping) => (
        <ConfirmButton
          action={text.delete}
          title={text.deleteMapping(mapping.name)}
          onConfirm={() => remove(mapping)}
          isLink
        >
          {text.deleteMappingText}
        </ConfirmButton>
      ),
    },
  ]
  return (
    <PagedTable
      label={text.mappings}
      pagedList={pagedList}
      columns={columns}
      idOf={({ id }) => id}
      empty={
        <EmptyState icon={iconImport} title={text.noMappings}>
          <p>{text.noMappingsHint}</p>
        </EmptyState>
      }
    />
  )
}
