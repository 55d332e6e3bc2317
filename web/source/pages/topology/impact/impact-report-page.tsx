import type { ImpactReport } from '@millwright/api/inventory/impact.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { ImpactView } from './impact-view.tsx'
import { impactMessages } from './messages.ts'
import '../topology.css'

/** `ImpactReportPage` shows a saved impact report. */
export function ImpactReportPage() {
  const text = useText(impactMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const { id = '' } = useParams({ strict: false })
  const report = useQuery(query(['inventory', 'readImpactReport'], { params: { id } }))
  usePageTitle(report.data?.data.name ?? text.report)
  return (
    <QueryState query={report}>
      {({ data }) => (
        <>
          <PageHeader
            title={data.name}
            subtitle={`${text[data.mode]}. ${text.asOf(formats.dateTime(data.createdTimestamp), data.principalName)}`}
            above={<ParentLink to="/topology/impact">{text.reports}</ParentLink>}
            actions={<DeleteReport report={data} />}
          />
          <ImpactView impact={data.impact} name={data.assetName ?? data.assetId} />
        </>
      )}
    </QueryState>
  )
}

function DeleteReport({ report }: { report: ImpactReport }) {
  const text = useText(impactMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const remove = async () => {
    await api.inventory.deleteImpactReport({ params: { id: report.id } })
    showSuccess(text.deleted)
    await queryClient.invalidateQueries({ queryKey: keyOf('inventory', 'listImpactReports') })
    await navigate({ to: '/topology/impact' as never })
  }
  return (
    <ConfirmButton action={text.deleteReport} title={text.deleteTitle} onConfirm={remove}>
      {text.deleteText(report.name)}
    </ConfirmButton>
  )
}
