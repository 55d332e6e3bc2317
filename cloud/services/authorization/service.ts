import { authorization } from '@millwright/api/authorization.ts'
import { service } from '../../platform/service.ts'
import { accessGroupHandlers } from './access-groups.ts'
import { checkHandlers } from './checks.ts'
import { grantHandlers } from './grants.ts'
import { roleHandlers } from './roles.ts'

/**
 * The service for roles, grants and access groups. Their tables belong to the platform, because the platform reads them
 * in every request.
 */
export const authorizationService = service({
  contract: authorization,
  handlers: (context) => ({
    ...roleHandlers(context),
    ...accessGroupHandlers(context),
    ...grantHandlers(context),
    ...checkHandlers(context),
  }),
})
