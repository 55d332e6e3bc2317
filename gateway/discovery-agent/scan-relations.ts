import { Code } from '@millwright/api/proto/generated/code_pb.js'
import { assetOfDocument, type MappingResult } from '../mapping/asset.ts'
import type { Document } from '../mapping/document.ts'
import type { Finding } from './findings.ts'
import type { ReportedDevice } from './scan.ts'

/** The number of devices and relationships of one scan that are remembered until its end. */
const maxRemembered = 100_000

type Relation = NonNullable<MappingResult['relation']>

/**
 * The relationships that a link reports in addition to devices. They refer to devices by the ids of this scan. At the end of the
 * scan each one becomes a relation of its subject's asset.
 */
export class ScanRelations {
  readonly #assets = new Map<string, Document>()
  readonly #relations: Relation[] = []

  /** Stores the ids of devices, and removes the relationships from the list of devices. */
  take(found: readonly ReportedDevice[]): ReportedDevice[] {
    return found.filter(({ mapped: { id, asset, relation } }) => {
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
   * Each subject with its relations. A relationship of a device that the scan did not find is an error, and so is one
   * that the schema does not allow; the other relations of its subject remain.
   */
  finding(): Finding {
    const errors: NonNullable<Finding['errors']> = []
    const bySubject = new Map<string, Document[]>()
    for (const { subject, predicate, object } of this.#relations) {
      const related = this.#assets.get(object)
      if (related === undefined || !this.#assets.has(subject)) {
        const missing = related === undefined ? object : subject
        const description = `The link reports the relationship ${predicate} of a device that it did not report: ${missing}`
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
