import type { ImpactReport } from '@millwright/api/inventory/impact.ts'
import { iconReportBarchart } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { impactMessages } from './messages.ts'
import '../topology.css'

/** `ImpactReportsPage` lists the saved impact reports. */
export function ImpactReportsPage() {
  const text = useText(impactMessages)
  const query = useOperationQuery()
  usePageTitle(text.reports)
  const reports = useQuery(query(['inventory', 'listImpactReports'], { query: { limit: 100 } }))
  return (
    <>
      <PageHeader
        title={text.reports}
        subtitle={text.reportsSubtitle}
        above={<ParentLink to="/topology">{text.topology}</ParentLink>}
      />
      <QueryState query={reports}>{({ data }) => <ReportTable reports={data} />}</QueryState>
    </>
  )
}

function ReportTable({ reports }: { reports: readonly ImpactReport[] }) {
  const text = useText(impactMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  return (
    <DataTable
      label={text.reports}
      rows={reports}
      idOf={({ id }) => id}
      onOpen={({ id }) => navigate({ to: '/topology/impact/$id' as never, params: { id } as never })}
      columns={[
        {
          id: 'name',
          header: text.report,
          width: 300,
          cell: ({ id, name }) => <Link to={`/topology/impact/${id}` as never}>{name}</Link>,
        },
        { id: 'mode', header: text.analysis, width: 200, cell: ({ mode }) => text[mode] },
        {
          id: 'affected',
          header: text.affected,
          width: 110,
          cell: ({ affected }) => (affected === undefined ? '–' : formats.number(affected)),
        },
        {
          id: 'degraded',
          header: text.degraded,
          width: 110,
          cell: ({ degraded }) => (degraded === undefined ? '–' : formats.number(degraded)),
        },
        { id: 'author', header: text.author, width: 160, cell: ({ principalName }) => principalName },
        {
          id: 'created',
          header: text.created,
          width: 180,
          cell: ({ createdTimestamp }) => <Time at={createdTimestamp} />,
        },
      ]}
      empty={
        <EmptyState icon={iconReportBarchart} title={text.noReports}>
          <p>{text.noReportsHint}</p>
          <Link to="/topology" className="button-link" activeOptions={{ exact: true }}>
            {text.openTopology}
          </Link>
        </EmptyState>
      }
      isTall
    />
  )
}
