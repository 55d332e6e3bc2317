import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { EditMonitoringDialog } from '../form/monitoring-dialog.tsx'
import { monitoringMessages } from '../messages.ts'
import { useMonitoring } from '../monitoring-data.ts'
import { MonitoringActions } from './monitoring-actions.tsx'
import { Results } from './results.tsx'
import { RunCard } from './run-card.tsx'
import { Runs } from './runs.tsx'
import { SettingsCard } from './settings-card.tsx'
import '../monitoring.css'

/** `MonitoringDetailPage` shows a monitoring with its latest run, its results, its settings and its runs. */
export function MonitoringDetailPage() {
  const text = useText(monitoringMessages)
  const { id = '' } = useParams({ strict: false })
  const loaded = useMonitoring(id)
  const canRun = usePermission('glb_discovery_run')
  const [isEditing, setEditing] = useState(false)
  const [generation, setGeneration] = useState(0)
  const monitoring = loaded.data?.monitoring
  const title = monitoring?.name ?? text.title
  usePageTitle(title)
  const reload = async () => {
    await loaded.refetch()
    setGeneration(generation + 1)
  }
  return (
    <>
      <PageHeader
        title={title}
        above={<ParentLink to="/monitoring">{text.title}</ParentLink>}
        actions={
          canRun &&
          monitoring !== undefined && <MonitoringActions monitoring={monitoring} onEdit={() => setEditing(true)} />
        }
      />
      <QueryState query={loaded}>
        {(data) => (
          <>
            <div className="cards cards-two">
              <RunCard monitoring={data.monitoring} />
              <SettingsCard monitoring={data.monitoring} />
            </div>
            <Results monitoring={data.monitoring} />
            <Runs monitoring={data.monitoring} />
            {isEditing && (
              <EditMonitoringDialog
                key={generation}
                loaded={data}
                onReload={reload}
                onClose={() => setEditing(false)}
              />
            )}
          </>
        )}
      </QueryState>
    </>
  )
}
