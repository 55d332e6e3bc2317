import { credentials } from '@millwright/api/credentials.ts'
import { service } from '../../platform/service.ts'
import { assignmentHandlers } from './assignments.ts'
import { chosenDeliveryHandlers } from './chosen-deliveries.ts'
import { deletedAssetTasks } from './deleted-assets.ts'
import { deliveryHandlers } from './deliveries.ts'
import { instanceHandlers } from './instances.ts'
import { SchemaChecks } from './schema-checks.ts'
import { schemaHandlers } from './schemas.ts'
import { sealedValues } from './sealed-values.ts'
import { templateHandlers } from './templates.ts'

export const credentialsService = service({
  contract: credentials,
  migrations: { module: 'credentials', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context) => ({
    ...schemaHandlers(context),
    ...instanceHandlers(context, new SchemaChecks()),
    ...templateHandlers(context),
    ...assignmentHandlers(context),
    ...deliveryHandlers(context),
    ...chosenDeliveryHandlers(context),
  }),
  tasks: deletedAssetTasks,
  sealed: [sealedValues],
})
