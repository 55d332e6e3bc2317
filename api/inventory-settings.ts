import { type Static, Type } from 'typebox'
import { closed, data, Timestamp } from './envelope.ts'
import { inventoryLimits } from './inventory-shapes.ts'

/** What a tenant wants of its inventory. */

const historyDays = Type.Union([Type.Integer({ minimum: 1, maximum: inventoryLimits.historyDays }), Type.Null()], {
  description: 'For how many days the past is kept; null keeps it for ever',
})

export const InventorySettings = closed({
  historyDays,
  historyFrom: Type.Union([Timestamp, Type.Null()], {
    description: 'What was before this time is not kept any more; null: everything is',
  }),
})
export type InventorySettings = Static<typeof InventorySettings>

export const settingsOperations = {
  readSettings: {
    method: 'GET',
    path: '/settings',
    summary: 'What the tenant wants of its inventory',
    access: 'inventory_read_asset_data',
    tagged: true,
    answers: { 200: data(InventorySettings) },
  },
  updateSettings: {
    method: 'PUT',
    path: '/settings',
    summary: 'Say for how long the past is kept; what is older is deleted at once, and for good',
    access: 'glb_access_manage',
    headers: ['if-match'],
    body: data(closed({ historyDays })),
    answers: { 200: data(InventorySettings) },
    errors: ['precondition_failed'],
  },
} as const
