import { type identity, preferenceLimits } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { record } from '../../../platform/audit/audit.ts'
import { emit } from '../../../platform/events/events.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'
import * as store from './preference-store.ts'

type Operations = 'readPreferences' | 'putPreference'

/** Handlers for the preferences of the caller. */
export function preferenceHandlers({
  context: { database },
}: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  return {
    async readPreferences(_request, caller) {
      const rows = await database.read(caller, (handle) => store.listPreferences(handle, caller.principal.id))
      return { data: Object.fromEntries(rows.map(({ name, value }) => [name, value])) }
    },

    async putPreference({ params: { name }, body }, caller) {
      const { value } = body.data
      const principalId = caller.principal.id
      await database.transaction(caller, async (tx) => {
        if (value === null) {
          await store.deletePreference(tx, principalId, name)
        } else {
          const count = await store.countOtherPreferences(tx, principalId, name)
          if (count >= preferenceLimits.names) {
            throw new Problem(
              'conflict',
              `You have ${count} preferences, which is the limit. Delete one first by setting it to null.`,
            )
          }
          await store.putPreference(tx, { principalId, name, value })
        }
        const target = `${caller.principal.kind}/${principalId}`
        await record(tx, caller, { action: 'identity.putPreference', target, detail: { name } })
        await emit(tx, { type: 'identity.preference.updated', subject: target, data: { name } })
      })
      return answer(204)
    },
  }
}
