import type { Monitoring } from '@millwright/api/monitoring.ts'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { isRunning, useRefreshMonitorings } from '../monitoring-data.ts'
import { detailMessages } from './messages.ts'

type MonitoringActionsProps = { monitoring: Monitoring; onEdit: () => void }

/** `MonitoringActions` contains the buttons of a monitoring. */
export function MonitoringActions({ monitoring, onEdit }: MonitoringActionsProps) {
  const text = useText(detailMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshMonitorings()
  const { id, name, schedule } = monitoring
  const params = { id }
  const act = (work: () => Promise<unknown>, done: string) => async () => {
    try {
      await work()
      showSuccess(done)
    } catch (error) {
      showError((error as Error).message)
    }
    await refresh()
  }
  const setPaused = (paused: boolean) => api.monitoring.updateMonitoring({ params, body: { data: { paused } } })
  const remove = async () => {
    await api.monitoring.deleteMonitoring({ params })
    showSuccess(text.deleted)
    await navigate({ to: '/monitoring' })
    await refresh()
  }
  return (
    <>
      <ConfirmButton action={text.delete} title={text.deleteTitle(name)} onConfirm={remove}>
        {text.deleteText}
      </ConfirmButton>
      <IxButton variant="secondary" onClick={onEdit}>
        {text.edit}
      </IxButton>
      {schedule !== undefined && (
        <IxButton
          variant="secondary"
          onClick={act(() => setPaused(!schedule.paused), schedule.paused ? text.resumed : text.nowPaused)}
        >
          {schedule.paused ? text.resume : text.pause}
        </IxButton>
      )}
      {isRunning(monitoring) ? (
        <IxButton onClick={act(() => api.monitoring.cancelMonitoring({ params }), text.canceling)}>
          {text.cancel}
        </IxButton>
      ) : (
        <IxButton onClick={act(() => api.monitoring.runMonitoring({ params }), text.accepted)}>{text.runNow}</IxButton>
      )}
    </>
  )
}
