import { imports } from '@millwright/api/imports.ts'
import { type Handlers, service } from '../../platform/service.ts'
import { fileHandlers } from './files.ts'
import { importTasks } from './import-run.ts'
import { mappingHandlers } from './mappings.ts'
import { retentionTasks } from './retention.ts'
import { templateHandlers } from './template.ts'

/** Imports of assets from files. The service stores the files, their rows and the results; the inventory writes the assets. */
export const importsService = service({
  contract: imports,
  migrations: { module: 'imports', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context): Handlers<typeof imports> => ({
    ...templateHandlers(context),
    ...fileHandlers(context),
    ...mappingHandlers(context),
  }),
  tasks: (context) => ({ ...importTasks(context), ...retentionTasks(context) }),
})
