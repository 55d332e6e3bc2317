import { discovery } from '@millwright/api/discovery.ts'
import { service } from '../../platform/service.ts'
import { cancellationTasks } from './cancellation.ts'
import { credentialTestHandlers } from './credential-tests.ts'
import { deviceAddressTasks } from './device-address-store.ts'
import { discoveryHandlers } from './discoveries.ts'
import { discoveryGauges } from './gauge-store.ts'
import { ingestionTasks } from './ingestion.ts'
import { linkExpiryTasks } from './link-expiry.ts'
import { linkHandlers } from './links.ts'
import { managedLinkHandlers } from './managed-links.ts'
import { monitoredDeviceHandlers } from './monitored-devices.ts'
import { propertyHandlers } from './properties.ts'
import { receiptHandlers } from './receipts.ts'
import { reportHandlers } from './reports.ts'
import { runScheduleTasks } from './run-schedule.ts'
import { runStartTasks } from './run-start.ts'
import { runHandlers } from './runs.ts'
import { updateLinkHandlers } from './update-links.ts'
import { updatedDeviceHandlers } from './updated-devices.ts'

export const discoveryService = service({
  contract: discovery,
  migrations: { module: 'discovery', folder: new URL('./migrations/', import.meta.url) },
  gauges: discoveryGauges,
  handlers: (context) => ({
    ...discoveryHandlers(context),
    ...reportHandlers(context),
    ...receiptHandlers(context),
    ...linkHandlers(context),
    ...managedLinkHandlers(context),
    ...propertyHandlers(context),
    ...credentialTestHandlers(context),
    ...runHandlers(context),
    ...updateLinkHandlers(context),
    ...updatedDeviceHandlers(context),
    ...monitoredDeviceHandlers(context),
  }),
  tasks: (context) => ({
    ...runStartTasks(context),
    ...runScheduleTasks(context),
    ...ingestionTasks(context),
    ...cancellationTasks(context),
    ...linkExpiryTasks(context),
    ...deviceAddressTasks(context),
  }),
})
