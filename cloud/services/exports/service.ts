import { exports } from '@millwright/api/exports.ts'
import { service } from '../../platform/service.ts'
import { exportTasks } from './export-run.ts'
import { exportHandlers } from './exports.ts'

/** Exports of data to files, which run in the background. */
export const exportsService = service({
  contract: exports,
  migrations: { module: 'exports', folder: new URL('./migrations/', import.meta.url) },
  handlers: exportHandlers,
  tasks: exportTasks,
})
