import { accessMigrations } from './access/access.ts'
import { auditMigrations } from './audit/audit.ts'
import type { MigrationSource } from './database/migrations.ts'
import { eventsMigrations } from './events/events.ts'
import { requestsMigrations } from './requests/idempotency.ts'
import { secretsMigrations } from './secrets/opening.ts'
import { tasksMigrations } from './tasks/tasks.ts'
import { tenantsMigrations } from './tenants/tenants.ts'

/**
 * The migrations of the platform, in the order in which their tables reference each other. The migrations of services
 * come after them.
 */
export const platformMigrations: readonly MigrationSource[] = [
  tenantsMigrations,
  secretsMigrations,
  accessMigrations,
  auditMigrations,
  tasksMigrations,
  eventsMigrations,
  requestsMigrations,
]
