import type { Import } from '@millwright/api/imports.ts'
import { iconImport } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { type FileText, fileMessages } from '../messages.ts'
import { RunState } from '../run-state.tsx'

/** `ImportList` lists the imports that the user can see. */
export function ImportList() {
  const text = useText(fileMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const pagedList = usePagedList(['imports', 'listImports'], {}, { live: ['imports.import'] })
  const button = <IxButton onClick={() => navigate({ to: '/files/import' })}>{text.importFile}</IxButton>
  return (
    <>
      <Toolbar>{button}</Toolbar>
      <PagedTable
        label={text.imports}
        pagedList={pagedList}
        columns={columnsOf(text, formats)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/files/imports/${id}` })}
        empty={
          <EmptyState icon={iconImport} title={text.noImports}>
            <p>{text.noImportsHint}</p>
          </EmptyState>
        }
      />
    </>
  )
}

function columnsOf(text: FileText, formats: ReturnType<typeof useFormats>): Column<Import>[] {
  type Count = 'rows' | 'created' | 'updated' | 'unchanged' | 'failed'
  const count = (id: Count, width: number, header: string = text[id]): Column<Import> => ({
    id,
    header,
    width,
    cell: (row) => formats.number(row[id]),
  })
  return [
    {
      id: 'file',
      header: text.file,
      width: 215,
      cell: ({ fileName, dryRun }) => (
        <>
          {dryRun && <StatusChip>{text.dryRun}</StatusChip>} {fileName}
        </>
      ),
    },
    {
      id: 'state',
      header: text.state,
      width: 170,
      cell: ({ state, progress }) => <RunState state={state} progress={progress} />,
    },
    { id: 'time', header: text.time, width: 170, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    count('rows', 80),
    count('created', 90),
    count('updated', 95),
    count('unchanged', 115),
    count('failed', 80, text.failedRows),
    { id: 'by', header: text.by, width: 100, cell: ({ principalName }) => principalName },
  ]
}
