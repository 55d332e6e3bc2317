import { assetColumnsOf, propertyKeyOf } from '@millwright/api/asset-columns.ts'
import { assetTypes } from '@millwright/api/asset-schema.ts'
import { authorization } from '@millwright/api/authorization.ts'
import { pageLimits } from '@millwright/api/envelope.ts'
import { importMediaTypes, type imports } from '@millwright/api/imports.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { writeCsv } from '../../platform/files/csv.ts'
import { writeTemplate } from '../../platform/files/xlsx-template.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { importedProperties } from './columns.ts'

/** The maximum number of access groups in the list of allowed values. */
const mostGroups = 1_000

/** The template for imports: an empty table with the columns of the tenant. */
export function templateHandlers(context: Context): Pick<Handlers<typeof imports>, 'readTemplate'> {
  return {
    async readTemplate({ query: { format = 'xlsx' } }, caller) {
      const properties = await importedProperties(context, caller)
      const columns = assetColumnsOf(properties)
      const name = { 'content-disposition': attachment(`millwright-import.${format}`) }
      if (format === 'csv') {
        const parts = await Array.fromAsync(writeCsv({ headings: columns.map(({ heading }) => heading), pages: [] }))
        return answer(200, parts.join(''), { ...name, 'content-type': 'text/csv; charset=utf-8' })
      }
      const types = new Map(properties.map(({ key, data_type: type }) => [key, type]))
      const groups = await writableGroups(context, caller)
      const bytes = await writeTemplate(
        columns.map(({ heading, target }) => {
          const type = types.get(propertyKeyOf(target) ?? '')
          return {
            heading,
            values: valuesOf(target, type, groups),
            isText: type !== 'number' && type !== 'date' && type !== 'boolean',
          }
        }),
      )
      return answer(200, once(bytes), { ...name, 'content-type': importMediaTypes.xlsx })
    },
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Returns the allowed values of a column, if there are only a few. */
function valuesOf(target: string, type: string | undefined, groups: readonly string[]): readonly string[] {
  if (target === 'functional_object_type') return assetTypes
  if (target === 'access_group') return groups
  return type === 'boolean' ? ['true', 'false'] : []
}

/** Returns the names of the access groups in which the caller can write assets. */
async function writableGroups({ peers }: Context, caller: Caller): Promise<string[]> {
  const names: string[] = []
  for (let offset = 0; offset < mostGroups; offset += pageLimits.maximum) {
    const query = { limit: pageLimits.maximum, offset }
    const { data } = await peers(authorization, caller).listAccessGroups({ query })
    names.push(...data.filter(({ id }) => mayIn(caller, 'inventory_write_asset_data', id)).map(({ name }) => name))
    if (data.length < pageLimits.maximum) break
  }
  return names
}
