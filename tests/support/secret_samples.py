"""One made-up secret per kind, put together at run time so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64

ALNUM = "a1B2c3D4e5F6g7H8i9J0" * 8
LOWER = "a1b2c3d4e5f6g7h8i9j0" * 8
HEX = "0123456789abcdef" * 10
UPPER = "A2B3C4D5E6F7G2H3J4K5" * 4
_B64 = base64.b64encode(bytes(range(48, 112))).decode()


def b64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def pem(label: str = "RSA " + "PRIVATE KEY", lines: int = 12, newline: str = "\n") -> str:
    body = [("MIIE" if i == 0 else "") + ALNUM[i : i + 60] + "+/9x" for i in range(lines)]
    return newline.join([f"-----BEGIN {label}-----", *body, "aB3=", f"-----END {label}-----"])


JWT = b64url('{"alg":"HS256","typ":"JWT"}') + "." + b64url('{"sub":"1234567890","name":"J"}') + "." + ALNUM[:43]

# kind -> secrets that show by their own form, wherever they stand
TOKENS: dict[str, list[str]] = {
    "aws-access-key": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + UPPER[:16]],
    "google-api-key": ["AIza" + ALNUM[:35]],
    "google-oauth-token": ["ya29." + ALNUM[:60]],
    "google-client-secret": ["GOCSPX-" + ALNUM[:28]],
    "digitalocean-token": ["dop_v1_" + HEX[:64]],
    "heroku-key": ["HRKU-" + ALNUM[:40]],
    "vault-token": ["hvs." + ALNUM[:60]],
    "terraform-token": [ALNUM[:14] + ".atlasv1." + ALNUM[:67]],
    "pulumi-token": ["pul-" + HEX[:40]],
    "databricks-token": ["dapi" + HEX[:32]],
    "tailscale-key": ["tskey-auth-" + ALNUM[:17] + "-" + ALNUM[:32]],
    "age-secret-key": ["AGE-SECRET-KEY-1" + UPPER[:58]],
    "github-token": [
        "ghp_" + ALNUM[:36],
        "gho_" + ALNUM[:36],
        "ghs_" + ALNUM[:36],
        "github_pat_" + ALNUM[:22] + "_" + ALNUM[:59],
    ],
    "gitlab-token": ["glpat-" + ALNUM[:20], "gldt-" + ALNUM[:20]],
    "atlassian-token": ["ATATT3" + ALNUM[:150]],
    "bitbucket-token": ["ATBB" + ALNUM[:32]],
    "linear-key": ["lin_api_" + ALNUM[:40]],
    "slack-token": [
        "xoxb-" + "123456789012-1234567890123-" + ALNUM[:24],
        "xapp-1-A0123456789-1234567890123-" + HEX[:64],
    ],
    "slack-webhook": ["hooks.slack.com/services/" + "T00000000/B00000000/" + ALNUM[:24]],
    "discord-webhook": ["discord.com/api/webhooks/123456789012345678/" + ALNUM[:68]],
    "discord-token": ["MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + ALNUM[:38]],
    "telegram-token": ["123456789:AA" + ALNUM[:33]],
    "sendgrid-key": ["SG." + ALNUM[:22] + "." + ALNUM[:43]],
    "stripe-key": ["sk_live_" + ALNUM[:24], "rk_live_" + ALNUM[:24], "sk_test_" + ALNUM[:24]],
    "stripe-webhook-secret": ["whsec_" + ALNUM[:32]],
    "figma-token": ["figd_" + ALNUM[:40]],
    "plaid-token": ["access-" + "sandbox-01234567-89ab-cdef-0123-456789abcdef"],
    "shopify-token": ["shpat_" + HEX[:32]],
    "anthropic-key": ["sk-ant-api03-" + ALNUM[:93] + "AA"],
    "openrouter-key": ["sk-or-v1-" + HEX[:64]],
    "openai-key": ["sk-proj-" + ALNUM[:74] + "T3BlbkFJ" + ALNUM[:74], "sk-" + ALNUM[:20] + "T3BlbkFJ" + ALNUM[:20]],
    "api-key": ["sk-" + ALNUM[:48]],
    "huggingface-token": ["hf_" + ALNUM[:34]],
    "groq-key": ["gsk_" + ALNUM[:52]],
    "xai-key": ["xai-" + ALNUM[:80]],
    "perplexity-key": ["pplx-" + ALNUM[:48]],
    "replicate-token": ["r8_" + ALNUM[:37]],
    "nvidia-key": ["nvapi-" + ALNUM[:64]],
    "npm-token": ["npm_" + ALNUM[:36]],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + ALNUM[:80]],
    "rubygems-key": ["rubygems_" + HEX[:48]],
    "nuget-key": ["oy2" + LOWER[:43]],
    "jfrog-key": ["AKCp" + ALNUM[:69]],
    "docker-token": ["dckr_pat_" + ALNUM[:27]],
    "grafana-token": ["glsa_" + ALNUM[:32] + "_" + HEX[:8]],
    "sentry-token": ["sntrys_" + ALNUM[:80]],
    "jwt": [JWT, b64url('{"alg":"RS256","kid":"1"}') + "." + b64url('{"iss":"kubernetes"}') + "." + ALNUM],
    "private-key": [
        pem(),
        pem("PRIVATE KEY"),
        pem("OPENSSH PRIVATE KEY"),
        pem("PGP PRIVATE KEY BLOCK"),
        pem("EC PRIVATE KEY", 2, "\\n"),
    ],
    "password-hash": ["$6$" + "rounds=5000$saltsalt$" + ALNUM[:86], "$2b$" + "12$" + ALNUM[:53]],
}
# These need a border: within a word they would be parts of words.
BORDERED: dict[str, list[str]] = {
    "crates-token": ["cio" + ALNUM[:32]],
    "twilio-key": ["SK" + HEX[:32]],
    "mailgun-key": ["key-" + HEX[:32]],
    "alibaba-access-key": ["LTAI" + ALNUM[:20]],
    "azure-client-secret": [ALNUM[:3] + "8Q~" + ALNUM[:34]],
}

SECRET = "hUn7er2-" + "pa55"
# (text, the part that must go)
IN_CONTEXT: list[tuple[str, str]] = [
    (f"password={SECRET}", SECRET),
    (f"password: {SECRET}", SECRET),
    ("password: correcthorse", "correcthorse"),
    (f"  db_password: '{SECRET}'", SECRET),
    (f'{{"user":"bob","password":"{SECRET}","x":1}}', SECRET),
    (f'{{\\"password\\":\\"{SECRET}\\",\\"x\\":1}}', SECRET),
    ('{"passphrase": "correct horse battery staple"}', "correct horse battery staple"),
    (f"export DB_PASSWORD={SECRET}", SECRET),
    ("PGPASSWORD=p&s;s,(x) psql -h db", "p&s;s,(x)"),
    (f"$env:API_TOKEN = '{SECRET}'", SECRET),
    (f'authToken => "{SECRET}"', SECRET),
    (f"secret := `{SECRET}`", SECRET),
    (f"client_secret={SECRET}&grant_type=x", SECRET),
    (f"https://x/?access_token={SECRET}&page=2", SECRET),
    (f"ClientSecret: {SECRET}", SECRET),
    (f"AWS_SECRET_ACCESS_KEY={ALNUM[:40]}", ALNUM[:40]),
    (f"aws_secret_access_key = {ALNUM[:40]}", ALNUM[:40]),
    (f'"SecretAccessKey": "{ALNUM[:40]}",', ALNUM[:40]),
    (f'"SessionToken": "{ALNUM[:90]}",', ALNUM[:90]),
    ("AKIA" + "IOSFODNN7EXAMPLE," + ALNUM[:40], ALNUM[:40]),
    (f"OPENAI_API_KEY={SECRET}", SECRET),
    (f"MY_SERVICE_KEY={ALNUM[:32]}", ALNUM[:32]),
    (f"cmd --password {SECRET} --verbose", SECRET),
    (f"cmd --password={SECRET}", SECRET),
    (f"cmd --api-key '{SECRET}' run", SECRET),
    (f'Connect-X -Password "{SECRET}"', SECRET),
    (f"curl -s -u bob:{SECRET} https://x", SECRET),
    (f"curl --user 'bob:{SECRET}' https://x", SECRET),
    (f"mysql -h db -u root -p{SECRET} shop", SECRET),
    (f"sshpass -p {SECRET} ssh host", SECRET),
    (f"redis-cli -h x -a {SECRET} ping", SECRET),
    (f"docker login -u bob -p {SECRET} reg", SECRET),
    (f"machine x.org login bob password {SECRET}", SECRET),
    (f"CREATE USER bob WITH PASSWORD '{SECRET}';", SECRET),
    (f"CREATE USER bob IDENTIFIED BY '{SECRET}';", SECRET),
    (f"> Authorization: Bearer {ALNUM[:30]}", ALNUM[:30]),
    ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    ("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    (f"'Authorization': 'token {ALNUM[:30]}',", ALNUM[:30]),
    (f"Authorization: {ALNUM[:30]}", ALNUM[:30]),
    (f'-H "Authorization: Bearer {ALNUM[:30]}" https://x', ALNUM[:30]),
    (f'Authorization: Digest username="bob", response="{HEX[:32]}"', HEX[:32]),
    (f"Set-Cookie: sid={ALNUM[:30]}; Path=/; HttpOnly", ALNUM[:30]),
    (f"cookie: a=1; session={ALNUM[:30]}", ALNUM[:30]),
    (f"X-Api-Key: {SECRET}", SECRET),
    ('curl -H "X-Api-Key: abcdef"', "abcdef"),
    (f"PRIVATE-TOKEN: {SECRET}", SECRET),
    (f"failed with bearer {ALNUM[:30]} sent", ALNUM[:30]),
    (f"postgres://bob:{SECRET}@db:5432/shop", SECRET),
    ("postgres://bob:p@ss/w@db:5432/shop", "p@ss/w"),
    (f"redis://:{SECRET}@cache:6379/0", SECRET),
    (f"https://bob:{SECRET}@github.com/x.git", SECRET),
    (f"mongodb+srv://bob:{SECRET}@c.mongodb.net/x", SECRET),
    (f"bob:{SECRET}@tcp(db:3306)/shop", SECRET),
    (f"Server=db;User Id=sa;Password={SECRET} x;Encrypt=true", f"{SECRET} x"),
    (f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={ALNUM[:86]}==;EndpointSuffix=y", ALNUM[:86]),
    (f"https://x.blob.core.windows.net/c?sv=2020&sig={ALNUM[:43]}%3D", ALNUM[:43]),
    (f"https://s3/x?X-Amz-Signature={HEX[:64]}&y=1", HEX[:64]),
    (f"jdbc:postgresql://db/x?user=bob&password={SECRET}", SECRET),
    (f"//registry.npmjs.org/:_authToken={SECRET}", SECRET),
    ("_auth=dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    ('{"auths":{"r.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}', "dXNlcjpwYXNzd29yZA=="),
    (f"<password>{SECRET}</password>", SECRET),
    (f'<add key="ClearTextPassword" value="{SECRET}" />', SECRET),
    (f"  - name: DB_PASSWORD\n    value: {SECRET}", SECRET),
    (f'{{"name":"DB_PASSWORD","value":"{SECRET}"}}', SECRET),
    ("apiVersion: v1\ndata:\n  user: Ym9i\n  dsn: cG9zdGdyZXM6Ly8=\nkind: Secret\n", "cG9zdGdyZXM6Ly8="),
    ('{"kind":"Secret","data":{"dsn":"cG9zdGdyZXM6Ly8="}}', "cG9zdGdyZXM6Ly8="),
    ("client-key-data: LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVkt" + ALNUM[:60], ALNUM[:60]),
    (
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n" + f"{ALNUM[:64]}\n{ALNUM[1:65]}\nPrivate-MAC: x",
        ALNUM[1:65],
    ),
    ('"private_key": "' + pem("PRIVATE KEY", 4, "\\n") + '\\n",', ALNUM[2:62]),
]
