import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { record } from '../../../platform/audit/audit.ts'
import { emit } from '../../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import { retentionTopic } from './retention.ts'
import * as store from './settings-store.ts'

type Names = 'readSettings' | 'updateSettings'

export function settingsHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async readSettings(_request, caller) {
      return shown(await database.read(caller, store.findSettings))
    },

    async updateSettings({ body: { data }, headers }, caller) {
      return database.transaction(caller, async (tx) => {
        const before = await store.lockSettings(tx)
        requireMatch(headers['if-match'], before.version)
        const row = await store.putSettings(tx, data)
        const target = 'settings'
        const detail = { historyDays: { from: before.historyDays, to: row.historyDays } }
        await record(tx, caller, { action: 'inventory.updateSettings', target, detail })
        await emit(tx, { type: 'inventory.settings.updated', subject: target, data: { historyDays: row.historyDays } })
        tx.signal(retentionTopic)
        return shown(row)
      })
    },
  }
}

function shown({ version, ...settings }: store.SettingsRow) {
  return answer(200, { data: settings }, { etag: etagOf(version) })
}
