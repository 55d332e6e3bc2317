import { discovery } from '@millwright/api/discovery.ts'
import { service } from '../../platform/service.ts'
import { cancelingTasks } from './canceling.ts'
import { discoveryHandlers } from './discoveries.ts'
import { ingestingTasks } from './ingesting.ts'
import { linkExpiryTasks } from './link-expiry.ts'
import { linkHandlers } from './links.ts'
import { propertyHandlers } from './properties.ts'
import { reportHandlers } from './reports.ts'
import { runningTasks } from './running.ts'
import { runHandlers } from './runs.ts'
import { schedulingTasks } from './scheduling.ts'

export const discoveryService = service({
  contract: discovery,
  migrations: { module: 'discovery', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context) => ({
    ...discoveryHandlers(context),
    ...reportHandlers(context),
    ...linkHandlers(context),
    ...propertyHandlers(context),
    ...runHandlers(context),
  }),
  tasks: (context) => ({
    ...runningTasks(context),
    ...schedulingTasks(context),
    ...ingestingTasks(context),
    ...cancelingTasks(context),
    ...linkExpiryTasks(context),
  }),
})
