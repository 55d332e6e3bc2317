import { monitoring } from '@millwright/api/monitoring.ts'
import { service } from '../../platform/service.ts'
import { gatewayWorkHandlers } from './gateway-work.ts'
import { monitoringHandlers } from './monitorings.ts'
import { resultHandlers } from './results.ts'
import { runScheduleTasks } from './run-schedule.ts'
import { runTasks } from './run-task.ts'

/** Monitoring: the reachability, the firmware and chosen properties of devices, once or by schedule. */
export const monitoringService = service({
  contract: monitoring,
  migrations: { module: 'monitoring', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context) => ({
    ...monitoringHandlers(context),
    ...resultHandlers(context),
    ...gatewayWorkHandlers(context),
  }),
  tasks: (context) => ({ ...runScheduleTasks(context), ...runTasks(context) }),
})
