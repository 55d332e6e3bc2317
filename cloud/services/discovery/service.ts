import { discovery } from '@millwright/api/discovery.ts'
import { service } from '../../platform/service.ts'
import { cancelingJobs } from './canceling.ts'
import { discoveryHandlers } from './discoveries.ts'
import { ingestingJobs } from './ingesting.ts'
import { linkExpiryJobs } from './link-expiry.ts'
import { linkHandlers } from './links.ts'
import { propertyHandlers } from './properties.ts'
import { reportHandlers } from './reports.ts'
import { runningJobs } from './running.ts'
import { runHandlers } from './runs.ts'
import { schedulingJobs } from './scheduling.ts'

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
  jobs: (context) => ({
    ...runningJobs(context),
    ...schedulingJobs(context),
    ...ingestingJobs(context),
    ...cancelingJobs(context),
    ...linkExpiryJobs(context),
  }),
})
