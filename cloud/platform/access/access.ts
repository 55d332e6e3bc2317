import type { MigrationSource } from '../database/migrations.ts'

export const accessMigrations: MigrationSource = {
  module: 'access',
  folder: new URL('./migrations/', import.meta.url),
}
