import { linkServices, wireService } from '@millwright/api/link-protocol.ts'
import type { Log } from './log.ts'
import type { Manifest } from './manifest.ts'
import { answer, type ServedService } from './unary.ts'

/** Returns the service that lists the functions of the table `sends`. A gateway shows them before a scan. */
export function sentFunctionsService({ sends = [] }: Manifest, log: Log): ServedService {
  return {
    service: linkServices.sentFunctions,
    definition: (name) => wireService(linkServices.sentFunctions, name),
    implementation: {
      getSentFunctions: answer(
        () => ({ functions: sends.map(({ ports = [], ...sent }) => ({ ...sent, ports: [...ports] })) }),
        log,
      ),
    },
  }
}
