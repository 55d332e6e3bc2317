import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import type { Device } from './device.ts'

/** Converts a device to an asset of the inventory. */
export function assetOf(device: Device): Asset {
  return {
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: device.name,
    asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: device.mac }],
    product_instance_information: {
      serial_number: device.serial,
      manufacturer_product: { manufacturer: { name: device.vendor }, product_id: device.article },
    },
    connection_points: [
      { connection_point_type: 'EthernetPort', id: 'port', mac_address: device.mac },
      {
        connection_point_type: 'Ipv4Connectivity',
        id: 'ipv4',
        ipv4_address: device.address,
        related_connection_points: [{ connection_point_id: 'port', custom_relationship: 'Relies on' }],
      },
    ],
    software_components: [
      {
        software_component_type: 'SoftwareArtifactComponent',
        artifact: {
          functional_object_type: 'SoftwareArtifact',
          functional_object_schema_url: baseSchemaUrl,
          name: 'Firmware',
          is_firmware: true,
          asset_identifiers: [
            { asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version: device.firmware },
          ],
        },
      },
    ],
  }
}
