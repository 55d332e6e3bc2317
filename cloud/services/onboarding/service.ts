import { onboarding } from '@millwright/api/onboarding.ts'
import { service } from '../../platform/service.ts'
import { enrolmentHandlers } from './enrolment.ts'
import { packageHandlers } from './gateway-package.ts'
import { gatewayHandlers } from './gateways.ts'
import { gatewayGauges } from './gauge-store.ts'
import { reachabilityTasks } from './reachability.ts'
import { revocationHandlers } from './revocation.ts'

export const onboardingService = service({
  contract: onboarding,
  migrations: { module: 'onboarding', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context) => ({
    ...gatewayHandlers(context),
    ...packageHandlers(context),
    ...enrolmentHandlers(context),
    ...revocationHandlers(context),
  }),
  tasks: reachabilityTasks,
  gauges: gatewayGauges,
})
