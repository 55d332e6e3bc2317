import { linkServices, wireService } from '@millwright/api/link-protocol.ts'
import type {
  DeviceIdentifier,
  GetIdentifiersRequest,
  IdentifierRequest,
} from '@millwright/api/proto/generated/identifiers_pb.js'
import { type Asset, identifiersOf } from './device-identifiers.ts'
import type { PropertiesLink } from './device-info-service.ts'
import { LinkError } from './link-error.ts'
import { targetOf } from './target.ts'
import { answer, type ServedService, type ServiceContext } from './unary.ts'

/**
 * Returns the identifiers service for older gateways. The service returns the values of the properties in the encoding
 * of a discovered device.
 */
export function identifiersService(
  link: PropertiesLink,
  { log, permits: source, home }: ServiceContext,
): ServedService {
  return {
    service: linkServices.identifiers,
    definition: (name) => wireService(linkServices.identifiers, name),
    implementation: {
      getIdentifiers: answer(async ({ target, identifiers }: GetIdentifiersRequest, context) => {
        if (target === undefined) throw new LinkError('INVALID_ARGUMENT', 'The request names no device.')
        using permits = source.forCall(context)
        const { signal } = context
        const values = await link.properties({ device: targetOf(target), keys: [], signal, permits, log, home })
        const readable = Object.entries(values).filter(([, value]) => !(value instanceof LinkError))
        const all = identifiersOf(Object.fromEntries(readable) as Asset)
        return { identifiers: all.filter((one) => isWanted(one, identifiers)) }
      }, log),
      getSupportedSemantics: answer(
        () => ({ supportedSemantic: [{ name: 'URI', classifiers: [{ type: 'URI', value: '' }] }] }),
        log,
      ),
    },
  }
}

/**
 * Returns true when the request names the identifier, by its classifier or by its field name. An empty request means
 * all identifiers.
 */
function isWanted({ classifiers }: DeviceIdentifier, requests: readonly IdentifierRequest[]): boolean {
  if (requests.length === 0) return true
  const uri = classifiers[0]?.value ?? ''
  const [field] = uri.slice(uri.indexOf('#') + 1).split('/')
  return requests.some(({ identifier }) =>
    identifier.case === 'semantic' ? identifier.value.value === uri : identifier.value === field,
  )
}
