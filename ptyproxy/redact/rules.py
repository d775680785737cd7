"""Secrets that show by their own form: one row each of kind, literals of which the text must hold one (a cheap test
before a pattern is compiled), and pattern. Group 1, where there is one, is the secret.

Forms are the vendors' documented ones; where a vendor gives a prefix and no length, the shortest seen is the limit.
No left border where the prefix is unmistakable: a token glued to a word is still a token.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A kind of secret: what it is called, what the text holds if it holds one, how it looks."""

    kind: str
    literals: tuple[str, ...]
    pattern: str


_B = r"(?<![A-Za-z0-9])"  # not within a word
# Not within a word, or so mixed that no word is: `task-`, `risk-` and `disk-` end in `sk-`.
_B_OR_MIXED = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?=[A-Za-z-]{0,16}-[\w-]{0,48}\d)(?=[\w-]{0,48}[A-Z])(?=\S{40}))"

CLOUD = (
    Rule(
        "aws-secret-key", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}[\s,;:|\"']{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
    ),
    Rule("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:A[KS]IA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule("aws-bedrock-key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    Rule("google-api-key", ("AIza",), r"AIza[\w-]{35}"),
    Rule("google-oauth-token", ("ya29.", "1//0"), r"ya29\.[\w.-]{20,}|(?<![\w/])1//0[\w-]{40,}"),
    Rule("google-client-secret", ("GOCSPX-",), r"GOCSPX-[\w-]{28}"),
    Rule("azure-client-secret", ("Q~",), r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}"),
    Rule("azure-storage-key", ("AccountKey", "accountkey"), r"(?i)accountkey\s*[=:]\s*([A-Za-z0-9+/]{20,}={0,2})"),
    Rule("azure-sas-signature", ("sig=",), r"(?<![A-Za-z0-9])sig=([A-Za-z0-9%+/=_-]{20,})"),
    Rule(
        "aws-signature",
        ("X-Amz-S", "X-Goog-S"),
        r"X-(?:Amz|Goog)-(?:Signature|Security-Token)=([A-Za-z0-9%+/=_-]{20,})",
    ),
    Rule("alibaba-access-key", ("LTAI",), _B + r"LTAI[A-Za-z0-9]{12,26}"),
    Rule("tencent-secret-id", ("AKID",), _B + r"AKID[A-Za-z0-9]{28,40}"),
    Rule("digitalocean-token", ("do",), r"do[opr]_v1_[a-f0-9]{64}"),
    Rule("cloudflare-key", ("v1.0-",), _B + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    Rule("heroku-key", ("HRKU-",), r"HRKU-[\w-]{36,}"),
    Rule("flyio-token", ("FlyV1", "fo1_", "fm1", "fm2"), r"fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/=,_-]{60,}"),
    Rule("netlify-token", ("nfp_",), r"nfp_\w{36,}"),
    Rule("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}"),
    Rule("supabase-key", ("sbp_", "sb_secret_"), r"sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,}"),
    Rule("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,}"),
    Rule("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    Rule("pulumi-token", ("pul-",), r"pul-[a-f0-9]{40}"),
    Rule("databricks-token", ("dapi",), r"dapi[a-f0-9]{32}(?:-\d)?"),
    Rule("doppler-token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    Rule("tailscale-key", ("tskey-",), r"tskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]+)*"),
    Rule("1password-token", ("ops_ey",), r"ops_eyJ[\w-]{60,}={0,2}"),
    Rule("age-secret-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)

FORGE = (
    Rule("github-token", ("gh",), r"gh[pousr]_[A-Za-z0-9]{36,}"),
    Rule("github-token", ("github_pat_",), r"github_pat_\w{36,}"),
    Rule("gitlab-token", ("gl",), r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{20,}"),
    Rule("gitlab-token", ("GR1348941",), r"GR1348941[\w-]{20,}"),
    Rule("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[\w=-]{60,}"),
    Rule("bitbucket-token", ("ATBB",), r"ATBB[A-Za-z0-9_=.-]{24,}"),
    Rule("circleci-token", ("CCIPAT_",), r"CCIPAT_\w{22,}"),
    Rule("buildkite-token", ("bkua_",), r"bkua_[a-f0-9]{40}"),
    Rule("linear-key", ("lin_api_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),
    Rule("figma-token", ("figd_",), r"figd_[\w-]{40,}"),
    Rule("notion-token", ("ntn_", "secret_"), r"ntn_[A-Za-z0-9]{40,}|" + _B + r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    Rule("postman-key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    Rule("airtable-token", ("pat",), _B + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
)

CHAT = (
    Rule("slack-token", ("xox",), r"xox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    Rule("slack-token", ("xapp-",), r"xapp-\d-[A-Za-z0-9-]{20,}"),
    Rule(
        "slack-webhook", ("hooks.slack",), r"hooks\.slack(?:-gov)?\.com/((?:services|workflows|triggers)/[\w+/-]{20,})"
    ),
    Rule("discord-webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d{15,}/[\w-]{40,})"),
    # the first part is a number in base64, which leaves few characters in each place
    Rule(
        "discord-token",
        ("M", "N", "O"),
        r"[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9]{18,24}\.[\w-]{6}\.[\w-]{27,}",
    ),
    Rule("telegram-token", (":AA",), r"\d{8,10}:AA[\w-]{32,35}"),
    Rule("teams-webhook", ("webhook.office",), r"webhook\.office\.com/(webhookb2/[\w@/-]{40,})"),
    Rule("sendgrid-key", ("SG.",), r"SG\.[\w-]{16,32}\.[\w-]{32,64}"),
    Rule("twilio-key", ("SK",), _B + r"SK[0-9a-f]{32}(?![0-9a-f])"),
    Rule("mailgun-key", ("key-",), _B + r"key-[0-9a-f]{32}(?![0-9a-f])"),
    Rule("mailchimp-key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}\b"),
    Rule("brevo-key", ("xkeysib-",), r"xkeysib-[a-f0-9]{64}-\w{16}"),
)

PAYMENT = (
    Rule("stripe-key", ("_live_", "_test_"), r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    Rule("stripe-webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,}"),
    Rule("square-token", ("sq0", "EAAA"), r"sq0(?:atp|csp|idp)-[\w-]{22,43}|" + _B + r"EAAA[\w-]{60}"),
    Rule("paypal-token", ("access_token$",), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    Rule(
        "plaid-token",
        ("access-",),
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    Rule("shopify-token", ("shp",), r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}"),
)

MODELS = (
    Rule("anthropic-key", ("sk-ant-",), r"sk-ant-[\w-]{20,}"),
    Rule("openrouter-key", ("sk-or-",), r"sk-or-(?:v\d+-)?[A-Za-z0-9]{32,}"),
    Rule("openai-key", ("sk-",), _B_OR_MIXED + r"sk-(?:proj|svcacct|admin|None|service)-[\w-]{20,}"),
    Rule("openai-key", ("T3BlbkFJ",), r"sk-[\w-]{16,}T3BlbkFJ[\w-]{16,}"),
    Rule(
        "api-key",
        ("sk-",),
        _B_OR_MIXED + r"sk-(?:(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}|(?=[\w-]{0,48}\d)(?=[\w-]{0,48}[A-Z])[\w-]{24,})",
    ),
    Rule("huggingface-token", ("hf_", "api_org_"), r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z]{34}"),
    Rule("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    Rule("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,}"),
    Rule("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    Rule("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    Rule("nvidia-key", ("nvapi-",), r"nvapi-[\w-]{60,}"),
    Rule("cerebras-key", ("csk-",), r"csk-[a-z0-9]{40,}"),
    Rule("tavily-key", ("tvly-",), r"tvly-(?:dev-)?[A-Za-z0-9]{24,}"),
    Rule("together-key", ("tgp_v1_",), r"tgp_v1_[\w-]{40,}"),
    Rule("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
)

REGISTRIES = (
    Rule("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    Rule("pypi-token", ("pypi-Ag",), r"pypi-Ag[\w-]{50,}"),
    Rule("crates-token", ("cio",), _B + r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Rule("rubygems-key", ("rubygems_",), r"rubygems_[a-f0-9]{48}"),
    Rule("nuget-key", ("oy2",), r"oy2[a-z0-9]{43}"),
    Rule("jfrog-key", ("AKC", "cmVmdGtu"), r"AKC[a-zA-Z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,}"),
    Rule("clojars-token", ("CLOJARS_",), r"CLOJARS_[a-z0-9]{60}"),
    Rule("docker-token", ("dckr_",), r"dckr_(?:pat|oat)_[\w-]{24,}"),
)

OBSERVABILITY = (
    Rule("grafana-token", ("glc_", "glsa_"), r"gl(?:c|sa)_[\w=+/]{32,}"),
    Rule("newrelic-key", ("NRAK-",), r"NRAK-[A-Z0-9]{27}"),
    Rule("sentry-token", ("sntry",), r"sntry[su]_[\w=+/]{40,}"),
)

GENERAL = (
    Rule("jwt", ("eyJ",), r"eyJ[\w-]{8,1024}\.(?:eyJ)?[\w-]{8,}(?:\.[\w-]*){1,3}"),
    # a JWT that was cut: the header alone tells it
    Rule("jwt", ("eyJhbG", "eyJ0eX", "eyJraW"), r"eyJ(?:hbGciOi|0eXAiOi|raWQiOi)[\w-]{8,}(?:\.[\w-]*)*"),
    Rule("password-hash", ("$",), r"\$(?:1|2[abxy]|5|6|7|y|apr1|argon2i?d?)\$[./A-Za-z0-9$=,+]{20,}"),
    # base64 of "-----BEGIN", but not of a certificate ("-----BEGIN CERT")
    Rule("private-key", ("LS0tLS1CRUdJTi",), r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/=]{20,}"),
)

RULES = (*CLOUD, *FORGE, *CHAT, *PAYMENT, *MODELS, *REGISTRIES, *OBSERVABILITY, *GENERAL)
