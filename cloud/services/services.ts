import type { Service } from '../platform/service.ts'
import { activityService } from './activity/service.ts'
import { auditService } from './audit/service.ts'
import { authorizationService } from './authorization/service.ts'
import { credentialsService } from './credentials/service.ts'
import { discoveryService } from './discovery/service.ts'
import { eventsService } from './events/service.ts'
import { exportsService } from './exports/service.ts'
import { gatekeeperService } from './gatekeeper/service.ts'
import { hierarchyService } from './hierarchy/service.ts'
import { identityService } from './identity/service.ts'
import { importsService } from './imports/service.ts'
import { inboxService } from './inbox/service.ts'
import { inventoryService } from './inventory/service.ts'
import { inventoryV1Service } from './inventory-v1/service.ts'
import { jobsService } from './jobs/service.ts'
import { monitoringService } from './monitoring/service.ts'
import { onboardingService } from './onboarding/service.ts'
import { remoteAccessService } from './remote-access/service.ts'
import { updatesService } from './updates/service.ts'
import { workflowsService } from './workflows/service.ts'

/** All services. A service in this list is started, documented and tested. */
export const services: readonly Service[] = [
  identityService,
  authorizationService,
  auditService,
  activityService,
  eventsService,
  inventoryService,
  inventoryV1Service,
  onboardingService,
  gatekeeperService,
  discoveryService,
  credentialsService,
  workflowsService,
  jobsService,
  monitoringService,
  hierarchyService,
  exportsService,
  importsService,
  inboxService,
  remoteAccessService,
  updatesService,
] as unknown as readonly Service[]
