import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { parseJsonObject } from '../../../components/forms/json-object.ts'
import { nameOf, useReadyLinks } from '../../discovery/gateways/gateway-links.ts'
import { credentialMessages } from '../messages.ts'

function useImported(onClose: () => void) {
  const text = useText(credentialMessages)
  const queryClient = useQueryClient()
  return async () => {
    await queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
    showSuccess(text.imported)
    onClose()
  }
}

/** `ImportDialog` imports a credential type from an asset link. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const text = useText(credentialMessages)
  const api = useApi()
  const { links } = useReadyLinks()
  const [chosen, setChosen] = useState<string>()
  const finish = useImported(onClose)
  const assetId = chosen ?? links[0]?.link.assetId
  const importType = async (id: string) => {
    await api.credentials.createSchemaFromLink({ body: { data: { assetId: id } } })
    await finish()
  }
  return (
    <Dialog title={text.fromLink} onClose={onClose}>
      {assetId === undefined ? (
        <p>{text.noLinks}</p>
      ) : (
        <Form action={text.import} onSubmit={() => importType(assetId)}>
          <SelectField
            label={text.product}
            hint={text.fromLinkHint}
            value={assetId}
            onChange={setChosen}
            choices={links.map(({ link, gatewayName }) => ({
              value: link.assetId,
              label: `${nameOf(link)} – ${gatewayName}`,
            }))}
          />
        </Form>
      )}
    </Dialog>
  )
}

export function UploadDialog({ onClose }: { onClose: () => void }) {
  const text = useText(credentialMessages)
  const api = useApi()
  const finish = useImported(onClose)
  const [identifier, setIdentifier] = useState('')
  const [version, setVersion] = useState('')
  const [uri, setUri] = useState('')
  const [schema, setSchema] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const document = parseJsonObject(schema)
  const upload = async (content: Record<string, unknown>) => {
    await api.credentials.createSchema({
      query: { resourceIdentifier: identifier.trim(), resourceVersion: version.trim() },
      body: { data: { uri: uri.trim(), schema: content } },
    })
    await finish()
  }
  const submit = () => {
    setSubmitted(true)
    const isMissing = [identifier, version, uri].some((value) => value.trim() === '')
    return isMissing || document === undefined ? false : upload(document)
  }
  const missing = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  return (
    <Dialog title={text.upload} onClose={onClose}>
      <Form action={text.upload} onSubmit={submit}>
        <TextField
          label={text.identifier}
          error={missing(identifier)}
          isRequired
          value={identifier}
          onChange={setIdentifier}
        />
        <TextField label={text.version} error={missing(version)} isRequired value={version} onChange={setVersion} />
        <TextField label={text.uri} hint={text.uriHint} error={missing(uri)} isRequired value={uri} onChange={setUri} />
        <TextAreaField
          label={text.schema}
          hint={text.schemaHint}
          error={isSubmitted && document === undefined ? text.notJson : undefined}
          isRequired
          isCode
          rows={10}
          value={schema}
          onChange={setSchema}
        />
      </Form>
    </Dialog>
  )
}
