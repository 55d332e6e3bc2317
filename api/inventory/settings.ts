import { type Static, Type } from 'typebox'
import { closed, data, Timestamp } from '../envelope.ts'
import { inventoryLimits } from './shapes.ts'

/** Operations on the settings of the inventory of a tenant. */

const historyDays = Type.Union([Type.Integer({ minimum: 1, maximum: inventoryLimits.historyDays }), Type.Null()], {
  description: 'Number of days that history is kept; null for unlimited',
})

export const InventorySettings = closed({
  historyDays,
  historyFrom: Type.Union([Timestamp, Type.Null()], {
    description: 'History before this time has been deleted; null if nothing was deleted',
  }),
})
export type InventorySettings = Static<typeof InventorySettings>

export const settingsOperations = {
  readSettings: {
    method: 'GET',
    path: '/settings',
    summary: 'Read the settings of the inventory',
    access: 'inventory_read_asset_data',
    tagged: true,
    answers: { 200: data(InventorySettings) },
  },
  updateSettings: {
    method: 'PUT',
    path: '/settings',
    summary: 'Set how long history is kept; older history is deleted permanently',
    access: 'glb_access_manage',
    headers: ['if-match'],
    body: data(closed({ historyDays })),
    answers: { 200: data(InventorySettings) },
    errors: ['precondition_failed'],
  },
} as const
