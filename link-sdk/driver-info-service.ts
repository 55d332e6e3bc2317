import { linkServices, wireService } from '@millwright/api/link-protocol.ts'
import { LinkError } from './link-error.ts'
import type { Log } from './log.ts'
import { type Manifest, parseVersion } from './manifest.ts'
import { answer, type ServedService } from './unary.ts'

/** Returns the driver-info service, which provides the version, the schemas and the icon of the link. */
export function driverInfoService(manifest: Manifest, log: Log): ServedService {
  const version = {
    ...parseVersion(manifest.version),
    vendorName: manifest.vendor,
    productName: manifest.name,
    productDescription: manifest.description ?? '',
    docuUrl: manifest.documentation ?? '',
    feedbackUrl: manifest.feedback ?? '',
  }
  const schemas = (manifest.credentialSchemas ?? []).map(({ uri, schema }) => ({ uri, schema: JSON.stringify(schema) }))
  return {
    service: linkServices.driverInfo,
    definition: (name) => wireService(linkServices.driverInfo, name),
    implementation: {
      getVersionInfo: answer(() => ({ version }), log),
      getConfigSchema: answer(() => ({ schemas }), log),
      getAppIcon: answer(() => {
        if (manifest.icon === undefined) throw new LinkError('UNIMPLEMENTED', 'The link has no icon.')
        return { imageFormat: 'png', imageData: manifest.icon }
      }, log),
    },
  }
}
