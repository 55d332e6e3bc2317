import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { assetOfDocument, type MappingResult } from '../mapping/asset.ts'
import type { Document } from '../mapping/document.ts'
import type { Finding } from './findings.ts'
import type { ReportedDevice } from './scan.ts'

/** The maximum number of devices and relationships of one scan that are remembered until its end. */
const maxRemembered = 100_000

type Relation = NonNullable<MappingResult['relation']>

/**
 * `ScanRelations` collects the relationships that a link reports in addition to devices. Relationships refer to devices
 * by ids that are valid only in this scan. At the end of the scan, each relationship becomes a relation of its
 * subject's asset.
 */
export class ScanRelations {
  readonly #assets = new Map<string, Document>()
  readonly #relations: Relation[] = []

  /** Stores the relationships and the ids of the devices. Returns the devices without the relationships. */
  take(devices: readonly ReportedDevice[]): ReportedDevice[] {
    return devices.filter(({ mapped: { id, asset, relation } }) => {
      if (relation !== undefined) {
        if (this.#relations.length < maxRemembered) this.#relations.push(relation)
        return false
      }
      if (id !== undefined && asset !== undefined && this.#assets.size < maxRemembered) {
        this.#assets.set(id, identityOf(asset))
      }
      return true
    })
  }

  /**
   * Returns each subject with its relations. A relationship is reported as an error if the scan did not find one of its
   * devices, or if the schema does not allow the relation. The other relations of the subject are still returned.
   */
  finding(): Finding {
    const errors: NonNullable<Finding['errors']> = []
    const bySubject = new Map<string, Document[]>()
    for (const { subject, predicate, object } of this.#relations) {
      const related = this.#assets.get(object)
      if (related === undefined || !this.#assets.has(subject)) {
        const missing = related === undefined ? object : subject
        const description = `The asset link reported the relation ${predicate} of a device that it did not report: ${missing}`
        errors.push({ code: Code.NOT_FOUND, description, device: { subject, object } })
        continue
      }
      const relations = bySubject.get(subject) ?? []
      bySubject.set(subject, relations)
      relations.push({
        predicate,
        related_asset: { asset_identifiers: related.asset_identifiers },
        relational_role_of_related_asset: 'object',
      })
    }
    const devices = [...bySubject].map(([subject, relations]) => ({
      mapped: assetOfDocument({ ...this.#assets.get(subject), asset_relations: relations }),
    }))
    return { devices, errors }
  }
}

function identityOf({
  functional_object_type,
  functional_object_schema_url,
  name,
  asset_identifiers,
}: Document): Document {
  return {
    functional_object_type,
    functional_object_schema_url,
    ...(name === undefined ? {} : { name }),
    asset_identifiers,
  }
}
