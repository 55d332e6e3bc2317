import { pageLimits } from '@millwright/api/envelope.ts'
import { type CustomProperty, inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from './access/caller.ts'
import type { Context } from './service.ts'

/** Returns all custom properties of the tenant that a caller can read. */
export async function customProperties({ peers }: Pick<Context, 'peers'>, caller: Caller): Promise<CustomProperty[]> {
  const properties: CustomProperty[] = []
  for (;;) {
    const query = { limit: pageLimits.maximum, offset: properties.length }
    const { data } = await peers(inventory, caller).listCustomProperties({ query })
    properties.push(...data)
    if (data.length < query.limit) return properties
  }
}
